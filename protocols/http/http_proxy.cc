#include "protocols/http/http_proxy.h"

#include <utility>

#include "protocols/http/request_reader.h"
#include "sys/net/socket_options.h"

namespace sluice::http {

HttpProxy::HttpProxy(std::shared_ptr<const service::ServiceContext> context)
    : service_(std::make_shared<HttpService>(std::move(context))) {}

int64_t HttpProxy::first_byte_nanos() const { return service_->options().timeouts.string_long; }

void HttpProxy::OnAdmitted(relay::Worker& worker, sys::UniqueFd client, sys::SocketAddress client_address,
                           relay::Admission admission) {
  OnSecured(worker, std::move(client), nullptr, std::move(client_address), std::move(admission));
}

void HttpProxy::OnSecured(relay::Worker& worker, sys::UniqueFd client, std::unique_ptr<relay::Transform> transform,
                          sys::SocketAddress client_address, relay::Admission admission) {
  sys::ApplySocketOptions(client.get(), service_->options().client_socket_options).IgnoreError();
  auto reader = std::make_shared<RequestReader>(service_, worker.now(), /*kept_alive=*/false, std::move(transform));
  reader->OnAdmitted(worker, std::move(client), std::move(client_address), std::move(admission));
}

}  // namespace sluice::http
