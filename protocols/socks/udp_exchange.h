#ifndef SLUICE_PROTOCOLS_SOCKS_UDP_EXCHANGE_H_
#define SLUICE_PROTOCOLS_SOCKS_UDP_EXCHANGE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/string_view.h"
#include "protocols/socks/exchange.h"
#include "relay/datagram/association.h"
#include "relay/worker.h"
#include "sys/net/socket_address.h"

namespace sluice::socks {

// A UDP association of SOCKS 5 as the relay asks about it: the header of each datagram, names, and records. There is
// one record for the association when it ends, named after its first destination, and (`-U1`, `-U3`) an interim one for
// each new destination when it is met. The rules judge the first destination, and (`-U2`, `-U3`) each other one; what
// they deny is dropped.
//
// Owned by the association. Worker only.
class UdpExchange final : public relay::AssociationObserver {
 public:
  // `worker` is told of names that a handshake thread has resolved.
  UdpExchange(std::unique_ptr<Exchange> exchange, relay::Worker* worker)
      : exchange_(std::move(exchange)), worker_(worker) {}

  Opened Open(absl::string_view datagram) override;
  size_t Seal(const sys::SocketAddress& from, char* header) override;
  bool Admit(const sys::SocketAddress& to, absl::string_view name) override;
  std::optional<sys::SocketAddress> Resolve(absl::string_view name, uint16_t port,
                                            relay::DatagramTicket ticket) override;
  relay::Review OnReview() override { return exchange_->base().ReviewClient(); }
  void OnEnd(const relay::AssociationReport& report) override;

 private:
  const std::unique_ptr<Exchange> exchange_;
  relay::Worker* const worker_;
  bool any_met_ = false;
};

}  // namespace sluice::socks

#endif  // SLUICE_PROTOCOLS_SOCKS_UDP_EXCHANGE_H_
