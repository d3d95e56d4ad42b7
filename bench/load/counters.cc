#include "bench/load/counters.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ctime>

#include "bench/load/options.h"

namespace sluice::bench {

Counters& OpenCounters(const std::string& file) {
  int flags = MAP_SHARED | MAP_ANONYMOUS;
  int fd = -1;
  if (!file.empty()) {
    fd = open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || ftruncate(fd, sizeof(Counters)) < 0) Fail("--counters=" + file);
    flags = MAP_SHARED;
  }
  void* memory = mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, flags, fd, 0);
  if (memory == MAP_FAILED) Fail("mapping the counters");
  if (fd >= 0) close(fd);
  auto& counters = *static_cast<Counters*>(memory);  // zeroed: all counters are 0, the phase is kConnecting
  counters.magic.store(Counters::kMagic, std::memory_order_release);
  return counters;
}

uint64_t NowNanos() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace sluice::bench
