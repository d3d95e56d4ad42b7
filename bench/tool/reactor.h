#ifndef SLUICE_BENCH_TOOL_REACTOR_H_
#define SLUICE_BENCH_TOOL_REACTOR_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "sys/loop/epoll_loop.h"
#include "sys/loop/loop.h"
#include "sys/process/signals.h"
#include "sys/thread/clock.h"

namespace sluice::bench {

// The one thread of a program of the benchmarks: sluice's epoll loop with handlers, and SIGTERM and SIGINT as an end
// that can be asked for. epoll, whatever the proxy runs on: it locks no memory, and what is measured is the proxy.
//
// Thread-compatible.
class Reactor {
 public:
  class Handler {
   public:
    // What is new (Loop::Event), or 0 after Again().
    virtual void OnReady(uint16_t ready) = 0;
    // The watch is gone: the descriptor may be closed, the handler destroyed.
    virtual void OnReleased() = 0;

   protected:
    ~Handler() = default;

   private:
    friend class Reactor;
    bool again_ = false;
  };

  // First thing in the process: blocks the signals. Start-up only.
  static absl::StatusOr<std::unique_ptr<Reactor>> Create();

  // The id of the watch, or -errno. `handler` must live until its OnReleased().
  int64_t Watch(int fd, Handler& handler);
  // The descriptor is to be closed in OnReleased(), which comes in a later turn.
  void Release(sys::Loop::WatchId watch) { loop_->ReleaseToClose(watch); }

  // For a handler that stopped for its budget: OnReady(0) at the beginning of the next turn, which does not wait.
  void Again(Handler& handler);

  // Waits for events until `until` (CLOCK_MONOTONIC) at the latest, and handles them.
  void Turn(sys::MonotonicNanos until);

  // SIGTERM or SIGINT has come.
  bool interrupted() const { return signal_handler_.interrupted; }

 private:
  struct SignalHandler final : Handler {
    explicit SignalHandler(sys::SignalReader from) : reader(std::move(from)) {}
    void OnReady(uint16_t ready) override;
    void OnReleased() override {}

    sys::SignalReader reader;
    bool interrupted = false;
  };

  Reactor(std::unique_ptr<sys::EpollLoop> loop, sys::SignalReader signals)
      : loop_(std::move(loop)), signal_handler_(std::move(signals)) {}

  std::unique_ptr<sys::EpollLoop> loop_;
  SignalHandler signal_handler_;
  std::vector<Handler*> again_;
  std::vector<Handler*> visiting_;
};

inline sys::MonotonicNanos Now() { return sys::Clock::System().Now(); }

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_TOOL_REACTOR_H_
