#include "bench/mix/listener.h"

#include <cerrno>
#include <utility>

#include "sys/base/errno_or.h"
#include "sys/base/errno_status.h"
#include "sys/net/listen_socket.h"

namespace sluice::bench::mix {
namespace {

constexpr int kBacklog = 4096;
constexpr int kAcceptsPerVisit = 64;

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Open(Reactor& reactor, const sys::SocketAddress& address,
                                                         OnAccepted on_accepted) {
  sys::ListenOptions options;
  options.address = address;
  options.backlog = kBacklog;
  options.reuse_port = false;
  absl::StatusOr<sys::UniqueFd> fd = sys::OpenListener(options);
  if (!fd.ok()) return fd.status();
  std::unique_ptr<Listener> listener(new Listener(reactor, *std::move(fd), std::move(on_accepted)));
  const int64_t watch = reactor.Watch(listener->fd_.get(), *listener);
  if (watch < 0) return sys::ErrnoStatus(static_cast<int>(-watch), "watching the listening socket");
  return listener;
}

void Listener::OnReady(uint16_t /*ready*/) {
  for (int i = 0; i < kAcceptsPerVisit; ++i) {
    sys::ErrnoOr<sys::Accepted> accepted = sys::AcceptFrom(fd_.get());
    if (accepted.ok()) {
      on_accepted_(std::move(accepted->fd));
      continue;
    }
    switch (accepted.error().code) {
      case EMFILE:
      case ENFILE:
      case ENOBUFS:
      case ENOMEM:  // who waits in the queue is taken when the next one comes
      case EAGAIN:
        return;
      default:
        continue;
    }
  }
  reactor_.Again(*this);
}

}  // namespace sluice::bench::mix
