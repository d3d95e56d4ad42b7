#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <vector>

#include "bench/load/commands.h"
#include "bench/load/counters.h"
#include "bench/load/exchange.h"
#include "bench/load/options.h"
#include "bench/load/tcp.h"

namespace sluice::bench {
namespace {

constexpr size_t kAtOnce = 128;  // connecting or waiting for an answer: well under any listen queue
constexpr uint64_t kPatienceNanos = 30'000'000'000;

class Hold {
 public:
  explicit Hold(const Options& options)
      : route_(options),
        message_(options, false),
        epoll_(NewEpoll()),
        slots_(options.Int("connections", 1000, 1, 60000)) {}

  int Run() {
    Report("open", Round());
    char line[64];
    while (ssize_t size = read(STDIN_FILENO, line, sizeof line)) {
      if (size < 0 && errno != EINTR) Fail("reading standard input");
      // Whatever ended in the meantime is seen now, by its event or by the failing exchange.
      if (size > 0) Report("alive", Round());
    }
    return 0;
  }

 private:
  static void Report(const char* what, size_t count) {
    printf("{\"%s\": %zu}\n", what, count);
    fflush(stdout);
  }

  // One exchange on every connection, opened where it is not yet; how many were answered.
  size_t Round() {
    answered_ = in_flight_ = 0;
    uint64_t deadline = NowNanos() + kPatienceNanos;
    for (size_t next = 0; next < slots_.size() || in_flight_ > 0;) {
      while (next < slots_.size() && in_flight_ < kAtOnce) Start(slots_[next++]);
      Wait();
      if (NowNanos() > deadline) break;
    }
    first_ = false;
    return answered_;
  }

  void Start(Exchange& slot) {
    if (first_) {
      if (!slot.Connect(epoll_, route_)) Fail("connect");
    } else if (!slot.open() || slot.Send(message_) == Exchange::Progress::kBroken) {
      slot.Close();
      return;
    }
    ++in_flight_;
    slot.started_nanos = 1;  // an answer is due
  }

  void Wait() {
    epoll_event events[256];
    int count = epoll_wait(epoll_, events, 256, 50);
    for (int i = 0; i < count; ++i) {
      auto& slot = *static_cast<Exchange*>(events[i].data.ptr);
      if (!slot.open()) continue;
      Exchange::Progress progress = slot.Handle(events[i].events);
      if (progress == Exchange::Progress::kConnected) progress = slot.Send(message_);
      if (progress == Exchange::Progress::kNothing) continue;
      if (progress == Exchange::Progress::kAnswered) ++answered_;
      if (progress == Exchange::Progress::kBroken || progress == Exchange::Progress::kLast) slot.Close();
      if (slot.started_nanos) --in_flight_;
      slot.started_nanos = 0;
    }
  }

  const Route route_;
  const Message message_;
  const int epoll_;
  std::vector<Exchange> slots_;
  bool first_ = true;
  size_t in_flight_ = 0;
  size_t answered_ = 0;
};

}  // namespace

int RunHold(int argc, char** argv) {
  return Hold(Options(argc, argv, {"connect", "tunnel", "target", "connections", "request", "url", "host"})).Run();
}

}  // namespace sluice::bench
