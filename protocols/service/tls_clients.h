#ifndef SLUICE_PROTOCOLS_SERVICE_TLS_CLIENTS_H_
#define SLUICE_PROTOCOLS_SERVICE_TLS_CLIENTS_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "protocols/service/service_context.h"
#include "relay/acceptor.h"
#include "relay/worker.h"
#include "sys/base/unique_fd.h"
#include "sys/net/socket_address.h"

namespace sluice::service {

// `ssl_serv`: stands before the handler of a service whose clients speak TLS to us. The handshake is a thread's of the
// handshake pool, once the client has said something (STRING_SHORT); it has STRING_SHORT for all of it, however its
// bytes come. Then the handler gets the client with what decrypts its bytes (AdmissionHandler::OnSecured). A handshake
// that fails is recorded and the connection closed.
//
// Thread-safe; OnAdmitted and OnSilent on workers only.
class TlsClients final : public relay::AdmissionHandler, public std::enable_shared_from_this<TlsClients> {
 public:
  // The service has a context for TLS with clients.
  TlsClients(std::shared_ptr<const ServiceContext> context, std::shared_ptr<relay::AdmissionHandler> handler)
      : context_(std::move(context)), handler_(std::move(handler)) {}

  void OnAdmitted(relay::Worker& worker, sys::UniqueFd client, sys::SocketAddress client_address,
                  relay::Admission admission) override;
  void OnSilent(sys::UniqueFd client, sys::SocketAddress client_address, relay::Admission admission) override;
  int64_t first_byte_nanos() const override { return context_->options->timeouts.string_short; }
  relay::ConnectionBudget& budget() override { return *context_->budget; }

 private:
  struct Arrival;

  void Handshake(relay::Worker& worker, const std::shared_ptr<Arrival>& arrival) const;

  const std::shared_ptr<const ServiceContext> context_;
  const std::shared_ptr<relay::AdmissionHandler> handler_;
};

}  // namespace sluice::service

#endif  // SLUICE_PROTOCOLS_SERVICE_TLS_CLIENTS_H_
