#ifndef SLUICE_BENCH_MIX_ARRIVALS_H_
#define SLUICE_BENCH_MIX_ARRIVALS_H_

#include <cstdint>
#include <limits>

#include "sys/thread/clock.h"

namespace sluice::bench::mix {

// When exchanges are to begin. Closed loop (rate 0): whenever one can. Open loop: number n at start + n / rate, whether
// or not those before it have ended; a latency counts from that time, so that a proxy that stalls is charged with all
// the exchanges that would have come meanwhile.
//
// Pure; Thread-compatible.
class Arrivals {
 public:
  // `until`: no exchange begins then or later.
  Arrivals(double rate, sys::MonotonicNanos start, sys::MonotonicNanos until)
      : rate_(rate), start_(start), until_(until) {}

  bool open_loop() const { return rate_ > 0; }

  // When the next one is due: `now` in a closed loop; kNever when there is none any more.
  static constexpr sys::MonotonicNanos kNever = std::numeric_limits<int64_t>::max();
  sys::MonotonicNanos Next(sys::MonotonicNanos now) const {
    // From the count: adding up intervals would drift.
    const sys::MonotonicNanos due =
        open_loop() ? start_ + static_cast<int64_t>(static_cast<double>(taken_) / rate_ * sys::kNanosPerSecond) : now;
    return due < until_ ? due : kNever;
  }
  void Take() { ++taken_; }

 private:
  double rate_;
  sys::MonotonicNanos start_;
  sys::MonotonicNanos until_;
  int64_t taken_ = 0;
};

}  // namespace sluice::bench::mix

#endif  // SLUICE_BENCH_MIX_ARRIVALS_H_
