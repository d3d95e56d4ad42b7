#ifndef SLUICE_SYS_PIPES_PIPE_H_
#define SLUICE_SYS_PIPES_PIPE_H_

#include <fcntl.h>

#include <cassert>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "sys/base/errno_or.h"
#include "sys/base/unique_fd.h"

namespace sluice::sys {

// A pipe for splice(2) that knows how many bytes it holds.
//
// Both ends are O_NONBLOCK | O_CLOEXEC. The capacity wanted is 256 KB: more brings nothing, less costs more system
// calls (each 64 KB pipe needs about a quarter more processor time per byte). An unprivileged user has 64 MB of pipe
// buffers in all (/proc/sys/fs/pipe-user-pages-soft), so F_SETPIPE_SZ may be refused and a new pipe may even come with
// two pages: a pipe under 64 KB is not worth having and Create() says ENOBUFS.
//
// Slots, not bytes, fill a pipe: each segment of a socket takes at least one of capacity/4096 slots. A pipe may be full
// long before `held_bytes` reaches the capacity, so EAGAIN on the way in means "socket empty" only when the pipe is
// empty.
//
// Worker only.
class Pipe {
 public:
  static constexpr int kWantedBytes = 256 * 1024;
  static constexpr int kLeastBytes = 64 * 1024;

  // EMFILE, ENFILE, ENOMEM, or ENOBUFS when the kernel gives less than kLeastBytes.
  static ErrnoOr<Pipe> Create();
  // The same from the ends of an existing, empty pipe, grown to at most `wanted_bytes` as far as the kernel allows.
  static ErrnoOr<Pipe> FromEnds(UniqueFd read_end, UniqueFd write_end, int wanted_bytes);

  Pipe(Pipe&&) noexcept = default;
  Pipe& operator=(Pipe&&) noexcept = default;

  // splice(2) from `fd` into the pipe, at most `most_bytes`. The number of bytes, 0 at the end of the stream, or
  // -errno. Never blocks as long as `fd` is O_NONBLOCK (SPLICE_F_NONBLOCK speaks of the pipe only).
  // REQUIRES: most_bytes > 0 (else 0 would look like the end of the stream).
  int64_t FillFrom(int fd, int64_t most_bytes) {
    const int64_t moved = Splice(fd, write_end_.get(), most_bytes);
    if (moved > 0) held_bytes_ += moved;
    return moved;
  }
  // splice(2) of what the pipe holds into `fd`, at most `most_bytes`. SPLICE_F_MORE is never given: it would hold the
  // last piece of a message back for 200 ms. There is no MSG_NOSIGNAL for splice either: SIGPIPE must be ignored.
  // REQUIRES: most_bytes > 0, !empty().
  int64_t DrainTo(int fd, int64_t most_bytes) {
    assert(!empty());
    const int64_t moved = Splice(read_end_.get(), fd, most_bytes);
    if (moved > 0) held_bytes_ -= moved;
    return moved;
  }

  int64_t held_bytes() const { return held_bytes_; }
  bool empty() const { return held_bytes_ == 0; }
  int capacity_bytes() const { return capacity_bytes_; }

  // The reading end, for a caller that must take the bytes out by hand (read(2)); it reports what it took.
  int read_fd() const { return read_end_.get(); }
  void TookOut(int64_t bytes) { held_bytes_ -= bytes; }

 private:
  Pipe(UniqueFd read_end, UniqueFd write_end, int capacity_bytes)
      : read_end_(std::move(read_end)), write_end_(std::move(write_end)), capacity_bytes_(capacity_bytes) {}

  static int64_t Splice(int from, int to, int64_t most_bytes) {
    assert(most_bytes > 0);
    ssize_t moved;
    do {
      moved = ::splice(from, nullptr, to, nullptr, static_cast<size_t>(most_bytes), SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    } while (moved < 0 && errno == EINTR);
    return moved < 0 ? -errno : moved;
  }

  UniqueFd read_end_;
  UniqueFd write_end_;
  int capacity_bytes_;
  int64_t held_bytes_ = 0;
};

}  // namespace sluice::sys

#endif  // SLUICE_SYS_PIPES_PIPE_H_
