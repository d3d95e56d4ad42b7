#ifndef SLUICE_BENCH_LOAD_SCHEDULE_H_
#define SLUICE_BENCH_LOAD_SCHEDULE_H_

#include <cstdint>

#include "bench/load/counters.h"
#include "bench/load/options.h"

namespace sluice::bench {

// How long a load runs: --warmup seconds that do not count, --seconds that do, --tail seconds in which the load goes on
// while the harness looks at the proxy. Thread-compatible.
class Schedule {
 public:
  explicit Schedule(const Options& options)
      : warmup_(options.Seconds("warmup", 0.5)),
        seconds_(options.Seconds("seconds", 3)),
        tail_(options.Seconds("tail", 0)) {}

  // Starts the clock and returns it.
  uint64_t Start() {
    uint64_t now = NowNanos();
    measure_from_ = now + Nanos(warmup_);
    measure_to_ = measure_from_ + Nanos(seconds_);
    end_ = measure_to_ + Nanos(tail_);
    return now;
  }

  bool Measuring(uint64_t now) const { return now >= measure_from_ && now < measure_to_; }
  uint64_t end() const { return end_; }
  double seconds() const { return seconds_; }

 private:
  static uint64_t Nanos(double seconds) { return static_cast<uint64_t>(seconds * 1e9); }

  double warmup_;
  double seconds_;
  double tail_;
  uint64_t measure_from_ = 0;
  uint64_t measure_to_ = 0;
  uint64_t end_ = 0;
};

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_LOAD_SCHEDULE_H_
