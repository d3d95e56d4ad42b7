// The closed loops: each connection sends its next request once the answer is in.

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "bench/load/commands.h"
#include "bench/load/counters.h"
#include "bench/load/exchange.h"
#include "bench/load/histogram.h"
#include "bench/load/options.h"
#include "bench/load/schedule.h"
#include "bench/load/tcp.h"

namespace sluice::bench {
namespace {

constexpr size_t kConnectingAtOnce = 128;  // well under any listen queue
constexpr uint64_t kConnectNanos = 20'000'000'000;
constexpr uint64_t kRetryNanos = 1'000'000;

class Requests {
 public:
  explicit Requests(const Options& options)
      : keep_(!options.Has("close")),
        route_(options),
        message_(options, !keep_),
        schedule_(options),
        counters_(OpenCounters(options.Text("counters"))),
        epoll_(NewEpoll()),
        slots_(options.Int("connections", 64, 1, 60000)),
        // A proxy that breaks connections is an error to report, not to hammer.
        most_errors_(1000 + 10 * slots_.size()) {}

  int Run() {
    if (keep_) Establish();
    counters_.started_nanos = schedule_.Start();
    counters_.phase = Phase::kRunning;
    for (Exchange& slot : slots_) Begin(slot);
    while (NowNanos() < schedule_.end() && counters_.errors < most_errors_) {
      Wait(broken_.empty() ? 50 : 1);
      if (!broken_.empty() && NowNanos() - broken_since_ >= kRetryNanos) Retry();
    }
    counters_.phase = Phase::kDone;
    Print();
    return counters_.exchanges > 0 ? 0 : 1;
  }

 private:
  // Opens all connections before the clock starts.
  void Establish() {
    uint64_t deadline = NowNanos() + kConnectNanos;
    for (size_t opened = 0; counters_.connections < slots_.size();) {
      while (opened < slots_.size() && opened - counters_.connections < kConnectingAtOnce) {
        if (!slots_[opened++].Connect(epoll_, route_)) Fail("connect");
      }
      Wait(50);
      if (counters_.errors > 0) FailUsage("connecting: " + last_error_);
      if (NowNanos() > deadline) {
        errno = ETIMEDOUT;
        Fail("connecting");
      }
    }
  }

  void Wait(int timeout_millis) {
    epoll_event events[256];
    int count = epoll_wait(epoll_, events, 256, timeout_millis);
    for (int i = 0; i < count; ++i) {
      auto& slot = *static_cast<Exchange*>(events[i].data.ptr);
      switch (slot.Handle(events[i].events)) {
        case Exchange::Progress::kNothing:
          break;
        case Exchange::Progress::kConnected:
          Counters::Add(counters_.connections, 1);
          if (running()) SendRequest(slot);
          break;
        case Exchange::Progress::kAnswered:
          Finish(slot, keep_);
          break;
        case Exchange::Progress::kLast:
          Finish(slot, false);
          break;
        case Exchange::Progress::kBroken:
          Break(slot);
          break;
      }
    }
  }

  bool running() const { return counters_.phase.load(std::memory_order_relaxed) == Phase::kRunning; }

  // The next request of a slot, on a new connection when it has none.
  void Begin(Exchange& slot) {
    slot.started_nanos = NowNanos();
    if (slot.connected()) {
      SendRequest(slot);
    } else if (!slot.Connect(epoll_, route_)) {
      Break(slot);
    }
  }

  void SendRequest(Exchange& slot) {
    if (slot.Send(message_) == Exchange::Progress::kBroken) Break(slot);
  }

  void Finish(Exchange& slot, bool keep) {
    uint64_t now = NowNanos();
    if (schedule_.Measuring(now)) latencies_.Record(now - slot.started_nanos);
    Counters::Add(counters_.exchanges, 1);
    Counters::Add(counters_.received_bytes, message_.answer_bytes);
    if (!keep) {
      slot.Close();
      Counters::Add(counters_.connections, -1);
    }
    Begin(slot);
  }

  void Break(Exchange& slot) {
    if (slot.stale()) {
      Counters::Add(counters_.connections, -1);
      slot.Close();
      // Of the same request: its latency goes on.
      if (slot.Connect(epoll_, route_)) return;
    }
    if (last_error_.empty()) last_error_ = errno == 0 ? "the connection was closed" : strerror(errno);
    Counters::Add(counters_.errors, 1);
    if (slot.connected()) Counters::Add(counters_.connections, -1);
    slot.Close();
    if (broken_.empty()) broken_since_ = NowNanos();
    broken_.push_back(&slot);
  }

  void Retry() {
    std::vector<Exchange*> again;
    again.swap(broken_);
    for (Exchange* slot : again) Begin(*slot);
  }

  void Print() const {
    double seconds = schedule_.seconds();
    auto micros = [this](double fraction) { return static_cast<double>(latencies_.Percentile(fraction)) / 1000; };
    printf(
        "{\"exchanges\": %llu, \"seconds\": %.3f, \"per_second\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f, "
        "\"max_us\": %.1f, \"errors\": %llu, \"first_error\": \"%s\"}\n",
        static_cast<unsigned long long>(latencies_.count()), seconds,
        seconds > 0 ? static_cast<double>(latencies_.count()) / seconds : 0, micros(0.5), micros(0.99), micros(1),
        static_cast<unsigned long long>(counters_.errors.load()), last_error_.c_str());
  }

  const bool keep_;
  const Route route_;
  const Message message_;
  Schedule schedule_;
  Counters& counters_;
  const int epoll_;
  std::vector<Exchange> slots_;
  const uint64_t most_errors_;
  std::vector<Exchange*> broken_;  // to be opened again, after a pause
  uint64_t broken_since_ = 0;
  std::string last_error_;
  Histogram latencies_;
};

}  // namespace

int RunRequests(int argc, char** argv) {
  Options options(argc, argv,
                  {"connect", "tunnel", "target", "connections", "request", "url", "host", "post", "close", "warmup",
                   "seconds", "tail", "counters"});
  return Requests(options).Run();
}

}  // namespace sluice::bench
