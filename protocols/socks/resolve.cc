#include "protocols/socks/resolve.h"

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "protocols/accounting/result_code.h"
#include "protocols/dns/resolver.h"
#include "protocols/service/handshake_pool.h"
#include "protocols/service/service_context.h"
#include "protocols/service/tls_upstream.h"
#include "sys/thread/clock.h"

namespace sluice::socks {
namespace {

dns::FamilyPreference FamilyOf(service::FamilyPreference family) {
  switch (family) {
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

relay::Handoff WithResult(dns::Result result, Arrival arrival, Continuation next) {
  if (!result.ok()) {
    const int error = result.outcome == dns::Outcome::kTimeout ? ETIMEDOUT : 0;
    return Refusal(std::move(arrival), ReplyCode::kHostUnreachable, accounting::result::kNameNotResolved,
                   accounting::Phase::kResolve, error);
  }
  for (sys::SocketAddress& address : result.addresses) address.set_port(arrival.request.port);
  return next(std::move(result.addresses), std::move(arrival));
}

void ResolveOnThread(relay::Worker& worker, dns::Query query, Arrival arrival, Continuation next) {
  const service::ServiceContext& context = arrival.exchange->context();
  // Shared by the two ends that the task can have. It keeps the context alive.
  auto shared = std::make_shared<Arrival>(std::move(arrival));
  service::HandshakePool::Task task;
  task.destination = absl::StrCat(query.name, ":", shared->request.port);
  task.client_address = shared->exchange->record().client.IpText();
  task.deadline = sys::Clock::System().Now() + context.options->timeouts.connect;
  task.run = [shared, &worker, query = std::move(query), next] {
    const service::ServiceContext& context = shared->exchange->context();
    dns::Result result =
        context.resolver->ResolveBlocking(query, sys::Clock::System().Now() + context.options->timeouts.dns);
    const std::string host = shared->request.host;
    relay::Handoff handoff = WithResult(std::move(result), std::move(*shared), next);
    service::SecureUpstream(context, host, handoff);
    worker.Post(std::move(handoff));
  };
  task.shed = [shared, &worker] {
    worker.Post(Refusal(std::move(*shared), ReplyCode::kGeneralFailure, accounting::result::kOverloaded,
                        accounting::Phase::kResolve));
  };
  context.handshakes->Submit(std::move(task));
}

}  // namespace

dns::Query QueryFor(absl::string_view name, const service::ServiceOptions& options) {
  dns::Query query;
  query.name = std::string(name);
  query.family = FamilyOf(options.family);
  return query;
}

void ResolveThen(relay::Worker& worker, Arrival arrival, Continuation next) {
  const service::ServiceContext& context = arrival.exchange->context();
  if (arrival.request.address.family() != sys::AddressFamily::kNone) {
    std::vector<sys::SocketAddress> destinations = {arrival.request.address};
    std::string host = arrival.request.address.IpText();
    return service::AdoptSecured(worker, context, std::move(host), next(std::move(destinations), std::move(arrival)));
  }
  dns::Query query = QueryFor(arrival.request.host, *context.options);
  std::optional<dns::Result> known = context.resolver->TryCache(query);
  if (!known.has_value()) return ResolveOnThread(worker, std::move(query), std::move(arrival), next);
  std::string host = arrival.request.host;
  service::AdoptSecured(worker, context, std::move(host), WithResult(*std::move(known), std::move(arrival), next));
}

}  // namespace sluice::socks
