#ifndef SLUICE_PROTOCOLS_GATEWAYS_UDP_PORT_MAP_H_
#define SLUICE_PROTOCOLS_GATEWAYS_UDP_PORT_MAP_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "protocols/service/service_context.h"
#include "relay/datagram/mapped_client.h"
#include "relay/worker.h"

namespace sluice::gateways {

// `udppm`: the datagrams of every client go to the one target of the service, and its answers back. A session is a
// client's address and port; it ends after STRING_LONG without a datagram, or with `-s` after one answer.
//
// Where the target is an address, or a name whose address is known without asking, and the client is judged without
// asking anybody, nothing waits; else a handshake thread finds out while the first datagrams are kept
// (relay::MappedPorts). Datagrams of who is not let in are dropped.
//
// Thread-safe; OnClient on workers only.
class UdpPortMap final : public relay::MappedPortHandler {
 public:
  explicit UdpPortMap(std::shared_ptr<const service::ServiceContext> context) : context_(std::move(context)) {}

  std::optional<Client> OnClient(relay::Worker& worker, const sys::SocketAddress& client,
                                 relay::DatagramTicket ticket) override;
  relay::ConnectionBudget& budget() override { return *context_->budget; }
  const relay::OutgoingOptions* outgoing() const override { return &context_->outgoing; }
  int64_t idle_nanos() const override { return context_->options->timeouts.string_long; }
  bool single() const override { return context_->options->single_datagram; }

 private:
  const std::shared_ptr<const service::ServiceContext> context_;
};

}  // namespace sluice::gateways

#endif  // SLUICE_PROTOCOLS_GATEWAYS_UDP_PORT_MAP_H_
