#include "bench/tool/reactor.h"

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>

#include "sys/base/errno_or.h"
#include "sys/base/errno_status.h"

namespace sluice::bench {

void Reactor::SignalHandler::OnReady(uint16_t /*ready*/) {
  while (const std::optional<sys::ReceivedSignal> signal = reader.Read()) {
    if (signal->number == SIGTERM || signal->number == SIGINT) interrupted = true;
  }
}

absl::StatusOr<std::unique_ptr<Reactor>> Reactor::Create() {
  absl::StatusOr<sys::SignalReader> signals = sys::SignalReader::Create();
  if (!signals.ok()) return signals.status();
  sys::ErrnoOr<std::unique_ptr<sys::EpollLoop>> loop = sys::EpollLoop::Create();
  if (!loop.ok()) return sys::ErrnoStatus(loop.error(), "making an event loop");
  std::unique_ptr<Reactor> reactor(new Reactor(*std::move(loop), *std::move(signals)));
  SignalHandler& handler = reactor->signal_handler_;
  const int64_t watch = reactor->Watch(handler.reader.fd(), handler);
  if (watch < 0) return sys::ErrnoStatus(static_cast<int>(-watch), "watching signals");
  return reactor;
}

int64_t Reactor::Watch(int fd, Handler& handler) {
  return loop_->Watch(fd, reinterpret_cast<uint64_t>(&handler), sys::Loop::Interest::kBoth);
}

void Reactor::Again(Handler& handler) {
  if (handler.again_) return;
  handler.again_ = true;
  again_.push_back(&handler);
}

void Reactor::Turn(sys::MonotonicNanos until) {
  visiting_.swap(again_);
  for (Handler* handler : visiting_) {
    handler->again_ = false;
    handler->OnReady(0);
  }
  visiting_.clear();
  const int64_t wait = again_.empty() ? std::max<int64_t>(until - Now(), 0) : 0;
  for (const sys::Loop::Event& event : loop_->Turn(wait)) {
    auto* const handler = reinterpret_cast<Handler*>(event.token);
    if (event.ready == sys::Loop::kReleased) {
      // It may have asked to be visited again and then closed.
      if (handler->again_) std::erase(again_, handler);
      handler->again_ = false;
      handler->OnReleased();
    } else {
      handler->OnReady(event.ready);
    }
  }
}

}  // namespace sluice::bench
