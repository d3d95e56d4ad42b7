#include "protocols/socks/resolve.h"

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "protocols/access/operation.h"
#include "protocols/access/request_facts.h"
#include "protocols/accounting/result_code.h"
#include "protocols/dns/result.h"
#include "protocols/service/handshake_pool.h"
#include "protocols/service/judged_lookup.h"
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

access::Operation OperationOf(const Request& request) {
  switch (request.command) {
    case Command::kBind:
      return access::Operation::kBind;
    case Command::kUdpAssociate:
      return access::Operation::kUdpAssociate;
    case Command::kConnect:
    case Command::kNone:
      break;
  }
  return access::Operation::kConnect;
}

// What the upstream's certificate has to say.
std::string UpstreamName(const Request& request) {
  return request.address.family() != sys::AddressFamily::kNone ? request.address.IpText() : request.host;
}

access::RequestFacts FactsOf(const Arrival& arrival) {
  access::RequestFacts facts =
      service::FactsOf(arrival.exchange->record(), OperationOf(arrival.request), arrival.request.port);
  facts.target = arrival.request.address;
  return facts;
}

relay::Handoff WithJudged(service::JudgedLookup judged, Arrival arrival, Continuation next) {
  arrival.exchange->NoteJudgement(judged.judgement, arrival.hearing.get(), OperationOf(arrival.request),
                                  arrival.request.port);
  if (!judged.judgement.allowed()) {
    return Refusal(std::move(arrival), ReplyCode::kNotAllowed, judged.judgement.result, accounting::Phase::kHandshake);
  }
  if (!judged.result.ok()) {
    const int error = judged.result.outcome == dns::Outcome::kTimeout ? ETIMEDOUT : 0;
    return Refusal(std::move(arrival), ReplyCode::kHostUnreachable, accounting::result::kNameNotResolved,
                   accounting::Phase::kResolve, error);
  }
  arrival.exchange->record().upstream = judged.result.addresses.front();
  return next(std::move(judged.result.addresses), std::move(arrival));
}

void JudgeOnThread(relay::Worker& worker, Arrival arrival, Continuation next) {
  const service::ServiceContext& context = arrival.exchange->context();
  // Shared by the two ends that the task can have. It keeps the context alive.
  auto shared = std::make_shared<Arrival>(std::move(arrival));
  const Request& request = shared->request;
  service::HandshakePool::Task task;
  if (request.address.family() == sys::AddressFamily::kNone) {
    task.destination = absl::StrCat(request.host, ":", request.port);
  }
  task.client_address = shared->exchange->record().client.IpText();
  task.deadline = sys::Clock::System().Now() + context.options->timeouts.connect;
  task.run = [shared, &worker, next] {
    const service::ServiceContext& context = shared->exchange->context();
    auto judged = service::JudgeAndLookUp(context, shared->hearing.get(), FactsOf(*shared));
    const std::string host = UpstreamName(shared->request);
    relay::Handoff handoff = WithJudged(std::move(judged), std::move(*shared), next);
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
  worker.role().AssertHeld();
  const service::ServiceContext& context = arrival.exchange->context();
  auto judged = service::TryJudgeAndLookUp(context, arrival.hearing.get(), FactsOf(arrival));
  if (!judged.has_value()) return JudgeOnThread(worker, std::move(arrival), next);
  std::string host = UpstreamName(arrival.request);
  service::AdoptSecured(worker, context, std::move(host), WithJudged(*std::move(judged), std::move(arrival), next));
}

}  // namespace sluice::socks
