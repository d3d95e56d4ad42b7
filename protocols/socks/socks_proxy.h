#ifndef SLUICE_PROTOCOLS_SOCKS_SOCKS_PROXY_H_
#define SLUICE_PROTOCOLS_SOCKS_SOCKS_PROXY_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "protocols/service/service_context.h"
#include "relay/acceptor.h"
#include "relay/transform.h"
#include "relay/worker.h"

namespace sluice::socks {

// `socks`: SOCKS 4, 4a and 5 on one port. Each client gets a Conversation once it has said something (BYTE_LONG); the
// handshake runs on the worker that accepted it, and what it asks for is connect.h's.
//
// Thread-safe; OnAdmitted and OnSilent on workers only.
class SocksProxy final : public relay::AdmissionHandler {
 public:
  explicit SocksProxy(std::shared_ptr<const service::ServiceContext> context) : context_(std::move(context)) {}

  void OnAdmitted(relay::Worker& worker, sys::UniqueFd client, sys::SocketAddress client_address,
                  relay::Admission admission) override;
  void OnSilent(sys::UniqueFd client, sys::SocketAddress client_address, relay::Admission admission) override;
  void OnSecured(relay::Worker& worker, sys::UniqueFd client, std::unique_ptr<relay::Transform> transform,
                 sys::SocketAddress client_address, relay::Admission admission) override;
  int64_t first_byte_nanos() const override;
  relay::ConnectionBudget& budget() override { return *context_->budget; }

 private:
  const std::shared_ptr<const service::ServiceContext> context_;
};

}  // namespace sluice::socks

#endif  // SLUICE_PROTOCOLS_SOCKS_SOCKS_PROXY_H_
