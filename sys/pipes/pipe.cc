#include "sys/pipes/pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace sluice::sys {

ErrnoOr<Pipe> Pipe::Create() {
  int ends[2];
  if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0) return Errno{errno};
  return FromEnds(UniqueFd(ends[0]), UniqueFd(ends[1]), kWantedBytes);
}

ErrnoOr<Pipe> Pipe::FromEnds(UniqueFd read_end, UniqueFd write_end, int wanted_bytes) {
  int capacity = fcntl(write_end.get(), F_GETPIPE_SZ);
  if (capacity < 0) return Errno{errno};
  // Refused above pipe-max-size and above the user's share (EPERM): half of it may still be allowed.
  for (int wanted = wanted_bytes; wanted > capacity; wanted /= 2) {
    if (const int granted = fcntl(write_end.get(), F_SETPIPE_SZ, wanted); granted > 0) {
      capacity = granted;
      break;
    }
  }
  if (capacity < kLeastBytes) return Errno{ENOBUFS};
  return Pipe(std::move(read_end), std::move(write_end), capacity);
}

}  // namespace sluice::sys
