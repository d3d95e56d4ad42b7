#include "sys/thread/clock.h"

#include <ctime>

namespace sluice::sys {
namespace {

int64_t Read(clockid_t id) {
  timespec now;
  clock_gettime(id, &now);
  return now.tv_sec * kNanosPerSecond + now.tv_nsec;
}

class SystemClock final : public Clock {
 public:
  MonotonicNanos Now() const override { return Read(CLOCK_MONOTONIC); }
  int64_t WallNanos() const override { return Read(CLOCK_REALTIME); }
};

}  // namespace

const Clock& Clock::System() {
  static const SystemClock clock;
  return clock;
}

}  // namespace sluice::sys
