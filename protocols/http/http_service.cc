#include "protocols/http/http_service.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace sluice::http {
namespace {

// A name for `by` and Via: only what is a host goes in, since both are read by others.
std::string HostName() {
  char name[256] = {};
  Authority authority;
  if (gethostname(name, sizeof(name) - 1) != 0 || !ParseAuthority(name, 80, authority) || authority.ipv6) {
    return "localhost";
  }
  return std::string(authority.host);
}

ForwardingPolicy PolicyOf(const service::ServiceContext& context) {
  const service::HttpOptions& options = context.options->http;
  ForwardingPolicy policy;
  policy.disclosure = options.disclosure;
  policy.own_name = absl::StrCat(HostName(), ":", context.port);
  policy.default_target.host = options.default_host;
  policy.default_target.port = options.default_port;
  policy.default_target.ipv6 = options.default_host.find(':') != std::string::npos;
  return policy;
}

}  // namespace

HttpService::HttpService(std::shared_ptr<const service::ServiceContext> context)
    : context_(std::move(context)), policy_(PolicyOf(*context_)), gate_(context_.get(), policy_.own_name) {
  exchange_options_ = options().relay;
  exchange_options_.idle_nanos = options().timeouts.connection_short;
}

dns::FamilyPreference HttpService::dns_family() const {
  switch (options().family) {
    case service::FamilyPreference::kIpv4Only:
      return dns::FamilyPreference::kIpv4Only;
    case service::FamilyPreference::kIpv6Only:
      return dns::FamilyPreference::kIpv6Only;
    case service::FamilyPreference::kPreferIpv4:
      return dns::FamilyPreference::kPreferIpv4;
    case service::FamilyPreference::kPreferIpv6:
      return dns::FamilyPreference::kPreferIpv6;
  }
  return dns::FamilyPreference::kPreferIpv4;
}

std::optional<IdleUpstreams::Upstream> HttpService::TakeIdle(const relay::Worker& worker,
                                                             const std::string& route) const {
  if (worker.index() >= kMostWorkers) return std::nullopt;
  const std::unique_ptr<OfWorker>& own = of_worker_[static_cast<size_t>(worker.index())];
  if (own == nullptr) return std::nullopt;
  return own->idle.Take(route, worker.now());
}

void HttpService::PutIdle(relay::Worker& worker, std::string route, IdleUpstreams::Upstream upstream) const {
  if (!options().http.keep_upstreams || worker.index() >= kMostWorkers) return;
  std::unique_ptr<OfWorker>& own = of_worker_[static_cast<size_t>(worker.index())];
  if (own == nullptr) own = std::make_unique<OfWorker>();
  own->idle.Put(std::move(route), std::move(upstream), worker.now());
  if (std::exchange(own->swept, true)) return;
  // A service that nobody uses any more takes its upstreams with it.
  worker.EachSecond([service = weak_from_this(), own = own.get()](relay::Worker& worker) {
    const std::shared_ptr<const HttpService> alive = service.lock();
    return alive != nullptr && (own->swept = own->idle.Sweep(worker.now()));
  });
}

}  // namespace sluice::http
