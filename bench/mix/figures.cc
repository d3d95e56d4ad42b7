#include "bench/mix/figures.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sluice::bench::mix {
namespace {

double Ratio(double a, double b) { return b > 0 ? a / b : 0; }

// The buckets' ends are above the values in them; nothing is above the longest.
double Micros(const Figures& figures, double fraction) {
  return static_cast<double>(std::min(figures.latencies.Percentile(fraction), figures.longest_nanos)) / 1000;
}

}  // namespace

void Figures::Record(sys::MonotonicNanos latency) {
  const auto nanos = static_cast<uint64_t>(std::max<sys::MonotonicNanos>(latency, 0));
  latencies.Record(nanos);
  longest_nanos = std::max(longest_nanos, nanos);
}

void Figures::Count(Failure failure, const std::string& what) {
  ++failures[static_cast<size_t>(failure)];
  if (first_failure.empty()) first_failure = absl::StrCat(FailureName(failure), ": ", what);
}

int64_t Figures::failed() const { return std::accumulate(failures.begin(), failures.end(), int64_t{0}); }

std::string Figures::Json() const {
  std::string kinds;
  for (size_t i = 0; i < kFailures; ++i) {
    if (failures[i] == 0) continue;
    absl::StrAppend(&kinds, kinds.empty() ? "" : ", ", "\"", FailureName(static_cast<Failure>(i)), "\": ", failures[i]);
  }
  return absl::StrFormat(
      "{\"open\": %d, \"active\": %d, \"exchanges\": %d, \"failed\": %d, \"bytes\": %d, \"seconds\": %.3f, "
      "\"p50_us\": %.1f, \"p90_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f, \"max_us\": %.1f, "
      "\"cpu_us_per_exchange\": %.2f, \"per_second\": %.1f, \"cpu_busy\": %.3f, \"unfinished\": %d, \"idle_ends\": %d, "
      "\"failures\": {%s}}\n",
      open, active, exchanges, failed(), bytes, seconds, Micros(*this, 0.5), Micros(*this, 0.9), Micros(*this, 0.99),
      Micros(*this, 0.999), Micros(*this, 1), Ratio(cpu_seconds * 1e6, static_cast<double>(exchanges)),
      Ratio(static_cast<double>(exchanges), seconds), Ratio(cpu_seconds, seconds), unfinished, idle_ends, kinds);
}

std::string Figures::Text() const {
  std::string text = absl::StrFormat(
      "%d connections, at most %d exchanges at a time\n"
      "%d exchanges in %.2f s: %.1f a second, %.1f MB/s\n"
      "latency ms: p50 %.3f  p90 %.3f  p99 %.3f  p99.9 %.3f  max %.3f\n"
      "CPU of the load: %.1f us an exchange, %.0f%% of a CPU%s\n",
      open, active, exchanges, seconds, Ratio(static_cast<double>(exchanges), seconds),
      Ratio(static_cast<double>(bytes) / 1e6, seconds), Micros(*this, 0.5) / 1000, Micros(*this, 0.9) / 1000,
      Micros(*this, 0.99) / 1000, Micros(*this, 0.999) / 1000, Micros(*this, 1) / 1000,
      Ratio(cpu_seconds * 1e6, static_cast<double>(exchanges)), 100 * Ratio(cpu_seconds, seconds),
      cpu_seconds > 0.9 * seconds ? ": the load, not the proxy, set the pace" : "");
  if (unfinished > 0) absl::StrAppend(&text, unfinished, " exchanges were not over at the end\n");
  if (idle_ends > 0) absl::StrAppend(&text, idle_ends, " idle connections were ended by the other side\n");
  absl::StrAppend(&text, "failed: ", failed(), "\n");
  for (size_t i = 0; i < kFailures; ++i) {
    if (failures[i] > 0) absl::StrAppend(&text, "  ", FailureName(static_cast<Failure>(i)), ": ", failures[i], "\n");
  }
  if (failed() > 0) absl::StrAppend(&text, "the first one was ", first_failure, "\n");
  return text;
}

}  // namespace sluice::bench::mix
