#ifndef SLUICE_PROTOCOLS_HTTP_HTTP_PROXY_H_
#define SLUICE_PROTOCOLS_HTTP_HTTP_PROXY_H_

#include <cstdint>
#include <memory>

#include "protocols/http/http_service.h"
#include "protocols/service/service_context.h"
#include "relay/acceptor.h"
#include "relay/transform.h"
#include "relay/worker.h"

namespace sluice::http {

// `proxy`: HTTP requests and CONNECT. Each client gets a RequestReader once it has said something (STRING_LONG); what
// it asks for is serve.h's.
//
// Thread-safe; OnAdmitted on workers only.
class HttpProxy final : public relay::AdmissionHandler {
 public:
  explicit HttpProxy(std::shared_ptr<const service::ServiceContext> context);

  void OnAdmitted(relay::Worker& worker, sys::UniqueFd client, sys::SocketAddress client_address,
                  relay::Admission admission) override;
  void OnSecured(relay::Worker& worker, sys::UniqueFd client, std::unique_ptr<relay::Transform> transform,
                 sys::SocketAddress client_address, relay::Admission admission) override;
  int64_t first_byte_nanos() const override;
  relay::ConnectionBudget& budget() override { return *service_->context().budget; }

 private:
  const std::shared_ptr<const HttpService> service_;
};

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_HTTP_PROXY_H_
