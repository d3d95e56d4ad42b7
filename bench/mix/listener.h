#ifndef SLUICE_BENCH_MIX_LISTENER_H_
#define SLUICE_BENCH_MIX_LISTENER_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "bench/tool/reactor.h"
#include "sys/base/unique_fd.h"
#include "sys/net/socket_address.h"

namespace sluice::bench::mix {

// Accepts connections and gives them away. Lives as long as the reactor; it has no end of its own.
// Thread-compatible.
class Listener final : public Reactor::Handler {
 public:
  using OnAccepted = std::function<void(sys::UniqueFd fd)>;
  static absl::StatusOr<std::unique_ptr<Listener>> Open(Reactor& reactor, const sys::SocketAddress& address,
                                                        OnAccepted on_accepted);

  // With the port that the kernel chose.
  sys::SocketAddress address() const { return sys::SocketAddress::OfSocket(fd_.get()); }

  void OnReady(uint16_t ready) override;
  void OnReleased() override {}

 private:
  Listener(Reactor& reactor, sys::UniqueFd fd, OnAccepted on_accepted)
      : reactor_(reactor), fd_(std::move(fd)), on_accepted_(std::move(on_accepted)) {}

  Reactor& reactor_;
  sys::UniqueFd fd_;
  OnAccepted on_accepted_;
};

}  // namespace sluice::bench::mix

#endif  // SLUICE_BENCH_MIX_LISTENER_H_
