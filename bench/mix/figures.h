#ifndef SLUICE_BENCH_MIX_FIGURES_H_
#define SLUICE_BENCH_MIX_FIGURES_H_

#include <array>
#include <cstdint>
#include <string>

#include "bench/load/histogram.h"
#include "bench/mix/connection.h"

namespace sluice::bench::mix {

// What a load has to tell; `mix load --help` says what each means. Thread-compatible.
struct Figures {
  int64_t open = 0;
  int64_t active = 0;
  int64_t exchanges = 0;
  int64_t bytes = 0;
  double seconds = 0;
  double cpu_seconds = 0;
  int64_t unfinished = 0;
  int64_t idle_ends = 0;
  Histogram latencies;  // nanoseconds
  uint64_t longest_nanos = 0;
  std::array<int64_t, kFailures> failures{};
  std::string first_failure;

  void Record(sys::MonotonicNanos latency);
  void Count(Failure failure, const std::string& what);
  int64_t failed() const;

  std::string Json() const;
  std::string Text() const;  // for people, several lines
};

}  // namespace sluice::bench::mix

#endif  // SLUICE_BENCH_MIX_FIGURES_H_
