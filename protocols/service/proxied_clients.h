#ifndef SLUICE_PROTOCOLS_SERVICE_PROXIED_CLIENTS_H_
#define SLUICE_PROTOCOLS_SERVICE_PROXIED_CLIENTS_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "protocols/service/service_context.h"
#include "relay/acceptor.h"
#include "relay/worker.h"
#include "sys/base/unique_fd.h"
#include "sys/net/socket_address.h"

namespace sluice::service {

// `-H`: stands before the handler of a service whose clients come over balancers. Each connection begins with a PROXY
// header (proxy_header.h), from one of the listed sources; the handler then gets the client that the header names, and
// the connection as the client's own bytes begin. Without a header, with a bad one, or from somebody who is not listed,
// the connection is recorded and closed.
//
// A header is waited for as first bytes are, by STRING_SHORT until its first byte and again from there to its last: one
// that is dripped, or never comes, costs a watch and a timer for so long.
//
// Thread-safe; OnAdmitted and OnSilent on workers only.
class ProxiedClients final : public relay::AdmissionHandler {
 public:
  ProxiedClients(std::shared_ptr<const ServiceContext> context, std::shared_ptr<relay::AdmissionHandler> handler)
      : context_(std::move(context)), handler_(std::move(handler)) {}

  void OnAdmitted(relay::Worker& worker, sys::UniqueFd client, sys::SocketAddress sender,
                  relay::Admission admission) override;
  void OnSilent(sys::UniqueFd client, sys::SocketAddress sender, relay::Admission admission) override;
  int64_t first_byte_nanos() const override { return context_->options->timeouts.string_short; }
  relay::ConnectionBudget& budget() override { return *context_->budget; }

 private:
  const std::shared_ptr<const ServiceContext> context_;
  const std::shared_ptr<relay::AdmissionHandler> handler_;
};

}  // namespace sluice::service

#endif  // SLUICE_PROTOCOLS_SERVICE_PROXIED_CLIENTS_H_
