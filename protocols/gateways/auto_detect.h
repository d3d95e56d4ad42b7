#ifndef SLUICE_PROTOCOLS_GATEWAYS_AUTO_DETECT_H_
#define SLUICE_PROTOCOLS_GATEWAYS_AUTO_DETECT_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "protocols/service/service_context.h"
#include "relay/acceptor.h"
#include "relay/worker.h"
#include "sys/base/unique_fd.h"
#include "sys/net/socket_address.h"

namespace sluice::gateways {

// `auto`: one port for three protocols, told apart by a client's first byte: 4 or 5 is SOCKS, 22 a TLS handshake
// (tls_sniff.h), everything else HTTP. The byte stays where it is.
//
// The client has STRING_LONG for it; whoever serves the protocol times the rest.
//
// Thread-safe; OnAdmitted on workers only.
class AutoDetect final : public relay::AdmissionHandler {
 public:
  struct Handlers {
    std::shared_ptr<relay::AdmissionHandler> socks;
    std::shared_ptr<relay::AdmissionHandler> tls;
    std::shared_ptr<relay::AdmissionHandler> http;
  };
  // The handlers have contexts of their own, which say that they speak (ServiceContext::speaks) one protocol.
  AutoDetect(std::shared_ptr<const service::ServiceContext> context, Handlers handlers)
      : context_(std::move(context)), handlers_(std::move(handlers)) {}

  void OnAdmitted(relay::Worker& worker, sys::UniqueFd client, sys::SocketAddress client_address,
                  relay::Admission admission) override;
  int64_t first_byte_nanos() const override;
  relay::ConnectionBudget& budget() override { return *context_->budget; }

 private:
  const std::shared_ptr<const service::ServiceContext> context_;
  const Handlers handlers_;
};

}  // namespace sluice::gateways

#endif  // SLUICE_PROTOCOLS_GATEWAYS_AUTO_DETECT_H_
