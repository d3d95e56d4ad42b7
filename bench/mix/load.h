#ifndef SLUICE_BENCH_MIX_LOAD_H_
#define SLUICE_BENCH_MIX_LOAD_H_

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/load/counters.h"
#include "bench/mix/arrivals.h"
#include "bench/mix/connection.h"
#include "bench/mix/figures.h"
#include "bench/mix/load_options.h"
#include "bench/mix/sizes.h"
#include "bench/tool/reactor.h"

namespace sluice::bench::mix {

// `mix load ARGUMENTS`; see kLoadHelp. The exit status.
int RunLoad(std::vector<std::string> words);

// One run: opens all connections, warms up, measures, waits for what is still under way. Thread-compatible.
class Load final : private Connection::Owner {
 public:
  // REQUIRES: open and active are set.
  Load(Reactor& reactor, const LoadOptions& options);

  // Once. An error: it could not run to its end (connections could not be opened, most exchanges fail, a signal); what
  // was measured until then is in figures().
  absl::Status Run();
  const Figures& figures() const { return figures_; }

 private:
  struct Mark {                  // what had been done at the beginning, or the end, of what is measured
    sys::MonotonicNanos at = 0;  // 0: not there yet
    int64_t exchanges = 0;
    int64_t bytes = 0;
    double cpu_seconds = 0;
  };

  void OnOpen(Connection& connection) override;
  void OnAnswered(Connection& connection, bool idle) override;
  void OnFailed(Connection& connection, Failure failure, const std::string& what, bool in_exchange) override;
  void OnIdleEnd(Connection& connection) override;
  void OnClosed(Connection& connection) override;

  absl::Status OpenAll();
  absl::Status Measure();
  // What is to be done in each turn besides events; then the turn, until `until` at the latest.
  void Turn(sys::MonotonicNanos now, sys::MonotonicNanos until);
  // Why the run cannot go on, if so.
  absl::Status Trouble() const;
  void ExpireSome(sys::MonotonicNanos now);
  void OpenSome(sys::MonotonicNanos now);
  void BeginDue(sys::MonotonicNanos now);
  sys::MonotonicNanos NextDue(sys::MonotonicNanos now) const;
  void RecordUnfinished(sys::MonotonicNanos now);
  Mark MarkNow(sys::MonotonicNanos now) const;
  Request NextRequest();
  void AddIdle(Connection& connection);
  void TakeIdle(Connection& connection);

  Reactor& reactor_;
  const LoadOptions options_;
  const Connection::Route route_;
  Counters& counters_;
  Random random_;
  std::deque<Connection> connections_;
  std::vector<Connection*> idle_;
  std::vector<Connection*> closed_;  // to be opened
  int64_t opening_ = 0;
  int64_t in_flight_ = 0;
  uint64_t requests_ = 0;
  int64_t answered_ = 0;
  int64_t answered_bytes_ = 0;
  sys::MonotonicNanos open_again_at_ = 0;  // after a failure, a pause
  sys::MonotonicNanos expire_at_ = 0;
  size_t expire_next_ = 0;
  Arrivals arrivals_{0, 0, 0};
  sys::MonotonicNanos measure_from_ = 0;
  sys::MonotonicNanos measure_to_ = 0;
  Figures figures_;
};

}  // namespace sluice::bench::mix

#endif  // SLUICE_BENCH_MIX_LOAD_H_
