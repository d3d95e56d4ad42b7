#include "protocols/gateways/forward.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "protocols/dns/question.h"
#include "protocols/dns/resolver.h"
#include "protocols/dns/result.h"
#include "protocols/dns/server_plan.h"
#include "protocols/service/handshake_pool.h"
#include "protocols/service/self_loops.h"
#include "protocols/service/service_context.h"
#include "relay/handoff.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::gateways {
namespace {

using accounting::Phase;

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

bool LeadsToUs(const sys::SocketAddress& target, const service::ServiceContext& context, int client) {
  if (context.own_proxies != nullptr && service::ReachesAny(target, *context.own_proxies)) return true;
  // Where this client came in, if that is another address than the one that is listened on (a redirected port).
  return service::IsWhereItCameIn(target, context.port, client);
}

relay::Handoff HandoffOf(Arrival arrival) {
  const service::ServiceContext& context = arrival.exchange->context();
  arrival.exchange->StopHandshakeClock();
  relay::Handoff handoff;
  handoff.client = std::move(arrival.client);
  handoff.client_is_tcp = context.clients_are_tcp;
  handoff.from_client = std::move(arrival.from_client);
  handoff.plan.outgoing = &context.outgoing;
  const ClientExchange::Watch* watch = arrival.exchange->watch();
  handoff.options = watch != nullptr ? watch->options() : &context.options->relay;
  handoff.observer = std::move(arrival.exchange);
  handoff.admission = std::move(arrival.admission);
  return handoff;
}

relay::Handoff Refusal(Arrival arrival, std::string answer, accounting::ResultCode result, Phase phase, int error) {
  arrival.exchange->RefuseInSession(std::move(answer), result, phase, error);
  arrival.from_client.clear();  // it was meant for somebody else
  return HandoffOf(std::move(arrival));
}

relay::Handoff WithAddresses(std::vector<sys::SocketAddress> addresses, Arrival arrival) {
  const auto ours = std::find_if(addresses.begin(), addresses.end(), [&](const sys::SocketAddress& address) {
    return LeadsToUs(address, arrival.exchange->context(), arrival.client.get());
  });
  if (ours != addresses.end()) {
    arrival.exchange->record().upstream = *ours;
    std::string answer = std::move(arrival.loop_answer);
    return Refusal(std::move(arrival), std::move(answer), accounting::result::kLoop, Phase::kConnect, ELOOP);
  }
  relay::Handoff handoff = HandoffOf(std::move(arrival));
  handoff.plan.candidates = std::move(addresses);
  return handoff;
}

relay::Handoff WithResult(dns::Result result, uint16_t port, Arrival arrival) {
  if (!result.ok()) {
    const int error = result.outcome == dns::Outcome::kTimeout ? ETIMEDOUT : 0;
    std::string answer = std::move(arrival.not_resolved_answer);
    return Refusal(std::move(arrival), std::move(answer), accounting::result::kNameNotResolved, Phase::kResolve, error);
  }
  for (sys::SocketAddress& address : result.addresses) address.set_port(port);
  return WithAddresses(std::move(result.addresses), std::move(arrival));
}

void ResolveOnThread(relay::Worker& worker, dns::Query query, uint16_t port, Arrival arrival) {
  const service::ServiceContext& context = arrival.exchange->context();
  // Shared by the two ends that the task can have. It keeps the context alive.
  auto shared = std::make_shared<Arrival>(std::move(arrival));
  service::HandshakePool::Task task;
  task.destination = absl::StrCat(query.name, ":", port);
  task.client_address = shared->exchange->record().client.IpText();
  task.deadline = sys::Clock::System().Now() + context.options->timeouts.connect;
  task.run = [shared, &worker, query = std::move(query), port] {
    const service::ServiceContext& context = shared->exchange->context();
    // DNS is what each server has before the next is asked; the resolver itself gives up once all had theirs.
    const sys::MonotonicNanos deadline =
        sys::Clock::System().Now() + context.options->timeouts.dns * static_cast<int64_t>(dns::kMaxNameServers);
    worker.Post(WithResult(context.resolver->ResolveBlocking(query, deadline), port, std::move(*shared)));
  };
  task.shed = [shared, &worker] {
    worker.Post(Refusal(std::move(*shared), "", accounting::result::kOverloaded, Phase::kResolve, 0));
  };
  context.handshakes->Submit(std::move(task));
}

}  // namespace

void Forward(relay::Worker& worker, Arrival arrival, service::RelayTarget to) {
  worker.role().AssertHeld();
  const service::ServiceContext& context = arrival.exchange->context();
  accounting::TrafficRecord& record = arrival.exchange->record();
  record.host = to.host_name;
  record.upstream = to.address;
  if (to.host_name.empty()) {
    std::vector<sys::SocketAddress> addresses = {to.address};
    return worker.Adopt(WithAddresses(std::move(addresses), std::move(arrival)));
  }
  dns::Query query;
  query.name = std::move(to.host_name);
  query.family = FamilyOf(context.options->family);
  std::optional<dns::Result> known = context.resolver->TryCache(query);
  if (!known.has_value()) return ResolveOnThread(worker, std::move(query), to.port, std::move(arrival));
  worker.Adopt(WithResult(*std::move(known), to.port, std::move(arrival)));
}

void Refuse(relay::Worker& worker, Arrival arrival, std::string answer, accounting::ResultCode result, Phase phase,
            int error) {
  worker.role().AssertHeld();
  worker.Adopt(Refusal(std::move(arrival), std::move(answer), result, phase, error));
}

}  // namespace sluice::gateways
