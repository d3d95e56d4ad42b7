#include "protocols/gateways/forward.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "protocols/access/operation.h"
#include "protocols/access/request_facts.h"
#include "protocols/dns/result.h"
#include "protocols/service/handshake_pool.h"
#include "protocols/service/judged_lookup.h"
#include "protocols/service/self_loops.h"
#include "protocols/service/service_context.h"
#include "relay/handoff.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::gateways {
namespace {

using accounting::Phase;

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

relay::Handoff WithJudged(service::JudgedLookup judged, uint16_t port, Arrival arrival) {
  arrival.exchange->Note(judged.judgement, arrival.hearing.get(), access::Operation::kConnect, port);
  if (!judged.judgement.allowed()) {
    std::string answer = std::move(arrival.denied_answer);
    return Refusal(std::move(arrival), std::move(answer), judged.judgement.result, Phase::kHandshake, 0);
  }
  if (!judged.result.ok()) {
    const int error = judged.result.outcome == dns::Outcome::kTimeout ? ETIMEDOUT : 0;
    std::string answer = std::move(arrival.not_resolved_answer);
    return Refusal(std::move(arrival), std::move(answer), accounting::result::kNameNotResolved, Phase::kResolve, error);
  }
  arrival.exchange->record().upstream = judged.result.addresses.front();
  return WithAddresses(std::move(judged.result.addresses), std::move(arrival));
}

access::RequestFacts FactsOf(const Arrival& arrival, uint16_t port) {
  return service::FactsOf(arrival.exchange->record(), access::Operation::kConnect, port);
}

void JudgeOnThread(relay::Worker& worker, uint16_t port, Arrival arrival) {
  const service::ServiceContext& context = arrival.exchange->context();
  // Shared by the two ends that the task can have. It keeps the context alive.
  auto shared = std::make_shared<Arrival>(std::move(arrival));
  const accounting::TrafficRecord& record = shared->exchange->record();
  service::HandshakePool::Task task;
  if (!record.host.empty()) task.destination = absl::StrCat(record.host.view(), ":", port);
  task.client_address = record.client.IpText();
  task.deadline = sys::Clock::System().Now() + context.options->timeouts.connect;
  task.run = [shared, &worker, port] {
    auto judged = service::JudgeAndLookUp(shared->exchange->context(), shared->hearing.get(), FactsOf(*shared, port));
    worker.Post(WithJudged(std::move(judged), port, std::move(*shared)));
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
  const uint16_t port = to.host_name.empty() ? to.address.port() : to.port;  // an address brings its own
  arrival.hearing = service::HearingFor(context, {}, record.started_wall_nanos);
  auto judged = service::TryJudgeAndLookUp(context, arrival.hearing.get(), FactsOf(arrival, port));
  if (!judged.has_value()) return JudgeOnThread(worker, port, std::move(arrival));
  worker.Adopt(WithJudged(*std::move(judged), port, std::move(arrival)));
}

void Refuse(relay::Worker& worker, Arrival arrival, std::string answer, accounting::ResultCode result, Phase phase,
            int error) {
  worker.role().AssertHeld();
  worker.Adopt(Refusal(std::move(arrival), std::move(answer), result, phase, error));
}

}  // namespace sluice::gateways
