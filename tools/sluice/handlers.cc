#include "tools/sluice/handlers.h"

#include <utility>

#include "protocols/gateways/auto_detect.h"
#include "protocols/gateways/port_map.h"
#include "protocols/gateways/tls_sniff.h"
#include "protocols/gateways/udp_port_map.h"
#include "protocols/http/http_proxy.h"
#include "protocols/service/snapshot.h"
#include "protocols/socks/socks_proxy.h"

namespace sluice::tools {
namespace {

std::shared_ptr<const service::ServiceContext> Speaking(service::ServiceType protocol,
                                                        const service::ServiceContext& context) {
  auto one = std::make_shared<service::ServiceContext>(context);
  one->speaks = protocol;
  return one;
}

service::ServiceHandler MakeAutoHandler(std::shared_ptr<const service::ServiceContext> context) {
  gateways::AutoDetect::Handlers handlers;
  handlers.socks = std::make_shared<socks::SocksProxy>(Speaking(service::ServiceType::kSocks, *context));
  handlers.tls = std::make_shared<gateways::TlsSniff>(Speaking(service::ServiceType::kTlsSniff, *context));
  handlers.http = std::make_shared<http::HttpProxy>(Speaking(service::ServiceType::kHttpProxy, *context));
  return std::make_shared<gateways::AutoDetect>(std::move(context), std::move(handlers));
}

}  // namespace

service::ServiceHandler MakeHandler(std::shared_ptr<const service::ServiceContext> context) {
  switch (context->options->type) {
    case service::ServiceType::kTcpPortMap:
      return std::make_shared<gateways::PortMap>(std::move(context));
    case service::ServiceType::kUdpPortMap:
      return std::make_shared<gateways::UdpPortMap>(std::move(context));
    case service::ServiceType::kSocks:
      return std::make_shared<socks::SocksProxy>(std::move(context));
    case service::ServiceType::kHttpProxy:
      return std::make_shared<http::HttpProxy>(std::move(context));
    case service::ServiceType::kTlsSniff:
      return std::make_shared<gateways::TlsSniff>(std::move(context));
    case service::ServiceType::kAuto:
      return MakeAutoHandler(std::move(context));
  }
  return {};
}

}  // namespace sluice::tools
