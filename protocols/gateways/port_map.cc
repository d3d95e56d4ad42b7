#include "protocols/gateways/port_map.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "protocols/access/operation.h"
#include "protocols/accounting/result_code.h"
#include "protocols/dns/result.h"
#include "protocols/service/handshake_pool.h"
#include "protocols/service/original_destination.h"
#include "protocols/service/self_loops.h"
#include "protocols/service/tls_upstream.h"
#include "sys/net/socket_options.h"

namespace sluice::gateways {
namespace {

void RefuseUnresolved(service::ExchangeObserver& observer, dns::Outcome outcome) {
  const int error = outcome == dns::Outcome::kTimeout ? ETIMEDOUT : 0;
  observer.Refuse(accounting::result::kNameNotResolved, accounting::Phase::kResolve, error);
}

}  // namespace

void PortMap::OnAdmitted(relay::Worker& worker, sys::UniqueFd client, sys::SocketAddress client_address,
                         relay::Admission admission) {
  OnSecured(worker, std::move(client), nullptr, std::move(client_address), std::move(admission));
}

void PortMap::OnSecured(relay::Worker& worker, sys::UniqueFd client, std::unique_ptr<relay::Transform> transform,
                        sys::SocketAddress client_address, relay::Admission admission) {
  Serve(worker, {std::move(client), std::move(admission),
                 std::make_unique<service::ExchangeObserver>(context_, client_address), std::move(transform)});
}

void PortMap::Serve(relay::Worker& worker, Arrival arrival) const {
  const service::ServiceOptions& options = *context_->options;
  sys::ApplySocketOptions(arrival.client.get(), options.client_socket_options).IgnoreError();
  accounting::TrafficRecord& record = arrival.observer->record();
  if (context_->log_addresses) record.Addresses().internal = sys::SocketAddress::OfSocket(arrival.client.get());
  arrival.target = options.target;
  if (options.transparent) {
    const auto destination = service::OriginalDestination(arrival.client.get(), context_->port);
    if (!destination.has_value()) return RefuseLoop(sys::SocketAddress::OfSocket(arrival.client.get()), arrival);
    arrival.target = {*destination, "", destination->port()};
  }
  record.host = arrival.target.host_name;
  arrival.hearing = service::HearingFor(*context_, {}, record.started_wall_nanos);
  auto judged = service::TryJudgeAndLookUp(*context_, arrival.hearing.get(), FactsOf(arrival));
  if (!judged.has_value()) return JudgeOnThread(worker, std::move(arrival));
  std::optional<relay::Handoff> handoff = HandoffOf(*std::move(judged), std::move(arrival));
  if (handoff.has_value()) Start(worker, *std::move(handoff));
}

// Under `ssl_cli` TLS begins with the upstream first, and its failure is told in the record.
void PortMap::Start(relay::Worker& worker, relay::Handoff handoff) const {
  // The hand-off's observer is ours.
  auto* const observer = static_cast<service::ExchangeObserver*>(handoff.observer.get());
  std::string name = UpstreamName(handoff);
  service::AdoptSecured(worker, *context_, std::move(name), std::move(handoff), [observer](const std::string& fault) {
    observer->record().text = absl::StrCat("upstream TLS: ", fault);
  });
}

std::string PortMap::UpstreamName(const relay::Handoff& handoff) const {
  const std::string& name = context_->options->target.host_name;
  return name.empty() ? handoff.plan.candidates.front().IpText() : name;
}

access::RequestFacts PortMap::FactsOf(const Arrival& arrival) {
  access::RequestFacts facts =
      service::FactsOf(arrival.observer->record(), access::Operation::kConnect, arrival.target.port);
  facts.target = arrival.target.address;
  return facts;
}

void PortMap::JudgeOnThread(relay::Worker& worker, Arrival arrival) const {
  const service::ServiceOptions& options = *context_->options;
  // Shared by the two ends that the task can have.
  auto shared = std::make_shared<Arrival>(std::move(arrival));
  service::HandshakePool::Task task;
  if (!shared->target.host_name.empty()) {
    task.destination = absl::StrCat(shared->target.host_name, ":", shared->target.port);
  }
  task.client_address = shared->observer->record().client.IpText();
  task.deadline = sys::Clock::System().Now() + options.timeouts.connect;
  task.run = [self = shared_from_this(), shared, &worker] {
    auto judged = service::JudgeAndLookUp(*self->context_, shared->hearing.get(), FactsOf(*shared));
    std::optional<relay::Handoff> handoff = self->HandoffOf(std::move(judged), std::move(*shared));
    if (!handoff.has_value()) return;
    auto* const observer = static_cast<service::ExchangeObserver*>(handoff->observer.get());
    const std::string name = self->UpstreamName(*handoff);
    service::SecureUpstream(*self->context_, name, *handoff, [observer](const std::string& fault) {
      observer->record().text = absl::StrCat("upstream TLS: ", fault);
    });
    worker.Post(*std::move(handoff));
  };
  task.shed = [shared] {
    shared->observer->Refuse(accounting::result::kOverloaded, accounting::Phase::kResolve, 0);
    shared->client.reset();
  };
  context_->handshakes->Submit(std::move(task));
}

std::optional<relay::Handoff> PortMap::HandoffOf(service::JudgedLookup judged, Arrival arrival) const {
  const service::ServiceOptions& options = *context_->options;
  arrival.observer->Note(judged.judgement, arrival.hearing.get(), access::Operation::kConnect, arrival.target.port);
  if (!judged.judgement.allowed()) {
    arrival.observer->Refuse(judged.judgement.result, accounting::Phase::kHandshake, 0);
    return std::nullopt;
  }
  if (!judged.result.ok()) {
    RefuseUnresolved(*arrival.observer, judged.result.outcome);
    return std::nullopt;
  }
  std::vector<sys::SocketAddress>& addresses = judged.result.addresses;
  arrival.observer->record().upstream = addresses.front();
  const bool loop = context_->leads_to_itself ||
                    std::any_of(addresses.begin(), addresses.end(), [&](const sys::SocketAddress& address) {
                      return IsOurselves(address, arrival.client.get());
                    });
  if (loop) {
    RefuseLoop(addresses.front(), arrival);
    return std::nullopt;
  }
  relay::Handoff handoff;
  handoff.client = std::move(arrival.client);
  handoff.client_is_tcp = context_->clients_are_tcp;
  handoff.client_transform = std::move(arrival.transform);
  handoff.plan.candidates = std::move(addresses);
  handoff.plan.outgoing = &context_->outgoing;
  handoff.options = &options.relay;
  handoff.observer = std::move(arrival.observer);
  handoff.admission = std::move(arrival.admission);
  return handoff;
}

// The target is the very address at which this client came in, or, where clients say it, one at which others come in
// that do. (A configured target that leads back here over other services is told by ServiceContext::leads_to_itself.)
bool PortMap::IsOurselves(const sys::SocketAddress& target, int client) const {
  if (context_->options->transparent && context_->own_proxies != nullptr &&
      service::ReachesAny(target, *context_->own_proxies)) {
    return true;
  }
  return target.is_ip() && service::IsWhereItCameIn(target, context_->port, client);
}

void PortMap::RefuseLoop(const sys::SocketAddress& target, Arrival& arrival) {
  arrival.observer->record().upstream = target;
  arrival.observer->Refuse(accounting::result::kLoop, accounting::Phase::kConnect, ELOOP);
}

}  // namespace sluice::gateways
