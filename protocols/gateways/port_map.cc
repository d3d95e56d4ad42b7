#include "protocols/gateways/port_map.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "protocols/accounting/result_code.h"
#include "protocols/dns/question.h"
#include "protocols/dns/server_plan.h"
#include "protocols/service/original_destination.h"
#include "protocols/service/self_loops.h"
#include "protocols/service/tls_upstream.h"
#include "sys/net/socket_options.h"

namespace sluice::gateways {
namespace {

dns::Query QueryFor(const service::ServiceOptions& options) {
  dns::Query query;
  query.name = options.target.host_name;
  switch (options.family) {
    case service::FamilyPreference::kIpv4Only:
      query.family = dns::FamilyPreference::kIpv4Only;
      break;
    case service::FamilyPreference::kIpv6Only:
      query.family = dns::FamilyPreference::kIpv6Only;
      break;
    case service::FamilyPreference::kPreferIpv4:
      query.family = dns::FamilyPreference::kPreferIpv4;
      break;
    case service::FamilyPreference::kPreferIpv6:
      query.family = dns::FamilyPreference::kPreferIpv6;
      break;
  }
  return query;
}

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
  std::vector<sys::SocketAddress> addresses;
  if (options.transparent) {
    const auto destination = service::OriginalDestination(arrival.client.get(), context_->port);
    if (!destination.has_value()) return RefuseLoop(sys::SocketAddress::OfSocket(arrival.client.get()), arrival);
    addresses.push_back(*destination);
  } else if (options.target.host_name.empty()) {
    addresses.push_back(options.target.address);
  } else {
    record.host = options.target.host_name;
    std::optional<dns::Result> known = context_->resolver->TryCache(QueryFor(options));
    if (!known.has_value()) return ResolveOnThread(worker, std::move(arrival));
    if (!known->ok()) return RefuseUnresolved(*arrival.observer, known->outcome);
    addresses = std::move(known->addresses);
  }
  std::optional<relay::Handoff> handoff = HandoffTo(std::move(addresses), std::move(arrival));
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

void PortMap::ResolveOnThread(relay::Worker& worker, Arrival arrival) const {
  const service::ServiceOptions& options = *context_->options;
  // Shared by the two ends that the task can have.
  auto shared = std::make_shared<Arrival>(std::move(arrival));
  service::HandshakePool::Task task;
  task.destination = absl::StrCat(options.target.host_name, ":", options.target.port);
  task.client_address = shared->observer->record().client.IpText();
  task.deadline = sys::Clock::System().Now() + options.timeouts.connect;
  task.run = [self = shared_from_this(), shared, &worker] {
    const service::ServiceOptions& options = *self->context_->options;
    // DNS is what each server has before the next is asked; the resolver itself gives up once all had theirs.
    const sys::MonotonicNanos deadline =
        sys::Clock::System().Now() + options.timeouts.dns * static_cast<int64_t>(dns::kMaxNameServers);
    dns::Result result = self->context_->resolver->ResolveBlocking(QueryFor(options), deadline);
    if (!result.ok()) {
      RefuseUnresolved(*shared->observer, result.outcome);
      return shared->client.reset();
    }
    std::optional<relay::Handoff> handoff = self->HandoffTo(std::move(result.addresses), std::move(*shared));
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

std::optional<relay::Handoff> PortMap::HandoffTo(std::vector<sys::SocketAddress> addresses, Arrival arrival) const {
  const service::ServiceOptions& options = *context_->options;
  for (sys::SocketAddress& address : addresses) {
    if (address.is_ip() && !options.transparent) address.set_port(options.target.port);
  }
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
