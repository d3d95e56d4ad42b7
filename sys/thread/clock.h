#ifndef SLUICE_SYS_THREAD_CLOCK_H_
#define SLUICE_SYS_THREAD_CLOCK_H_

#include <atomic>
#include <cstdint>

namespace sluice::sys {

// Nanoseconds of CLOCK_MONOTONIC. A point in time of this process; wall-clock time is Clock::WallNanos.
using MonotonicNanos = int64_t;

constexpr int64_t kNanosPerMilli = 1'000'000;
constexpr int64_t kNanosPerSecond = 1'000'000'000;

// Where code gets the time from, so that tests can turn it by hand.
//
// CLOCK_MONOTONIC and not its coarse twin: that one moves in steps of 4 ms, and grace delays are 1-10 ms. A reading
// costs about 27 ns; a worker reads it once a turn of its loop.
//
// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonotonicNanos Now() const = 0;
  // Nanoseconds since 1970 (CLOCK_REALTIME): for records that people read, never for measuring.
  virtual int64_t WallNanos() const = 0;

  // The machine's clock; lives as long as the process.
  static const Clock& System();
};

// A clock that stands still until it is told to move.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(MonotonicNanos start = kNanosPerSecond) : now_(start) {}
  MonotonicNanos Now() const override { return now_.load(std::memory_order_relaxed); }
  int64_t WallNanos() const override { return Now(); }
  void Advance(int64_t nanos) { now_.fetch_add(nanos, std::memory_order_relaxed); }

 private:
  std::atomic<MonotonicNanos> now_;
};

}  // namespace sluice::sys

#endif  // SLUICE_SYS_THREAD_CLOCK_H_
