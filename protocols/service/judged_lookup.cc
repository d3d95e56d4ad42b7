#include "protocols/service/judged_lookup.h"

#include <string>
#include <utility>

#include "protocols/auth/gate.h"
#include "protocols/dns/question.h"
#include "protocols/dns/resolver.h"
#include "protocols/dns/server_plan.h"
#include "protocols/service/snapshot.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::service {
namespace {

dns::Query QueryFor(const ServiceContext& context, const access::RequestFacts& facts) {
  dns::Query query;
  query.name = std::string(facts.host);
  switch (context.options->family) {
    case FamilyPreference::kIpv4Only:
      query.family = dns::FamilyPreference::kIpv4Only;
      break;
    case FamilyPreference::kIpv6Only:
      query.family = dns::FamilyPreference::kIpv6Only;
      break;
    case FamilyPreference::kPreferIpv4:
      query.family = dns::FamilyPreference::kPreferIpv4;
      break;
    case FamilyPreference::kPreferIpv6:
      query.family = dns::FamilyPreference::kPreferIpv6;
      break;
  }
  return query;
}

bool HasAddress(const access::RequestFacts& facts) { return facts.target.family() != sys::AddressFamily::kNone; }

dns::Result ResultOf(const access::RequestFacts& facts) {
  dns::Result result;
  result.addresses = {facts.target};
  result.from_cache = true;
  return result;
}

void SetPorts(uint16_t port, dns::Result& result) {
  for (sys::SocketAddress& address : result.addresses) {
    if (address.is_ip()) address.set_port(port);
  }
}

}  // namespace

std::optional<JudgedLookup> TryJudgeAndLookUp(const ServiceContext& context, auth::Hearing* hearing,
                                              const access::RequestFacts& facts) {
  JudgedLookup judged;
  judged.judgement.outcome = auth::Judgement::Outcome::kAllowed;
  if (HasAddress(facts)) {
    judged.result = ResultOf(facts);
  } else {
    // Whoever is denied in any case is told so without a question to anybody.
    if (hearing != nullptr) {
      std::optional<auth::Judgement> before = hearing->TryJudge(facts, auth::Stage::kBeforeResolution);
      if (!before.has_value()) return std::nullopt;
      judged.judgement = *std::move(before);
      if (judged.judgement.outcome == auth::Judgement::Outcome::kDenied) return judged;
    }
    std::optional<dns::Result> known = context.resolver->TryCache(QueryFor(context, facts));
    if (!known.has_value()) return std::nullopt;
    judged.result = *std::move(known);
  }
  SetPorts(facts.port, judged.result);
  if (hearing == nullptr) return judged;
  std::optional<auth::Judgement> judgement = hearing->TryJudgeCandidates(facts, judged.result.addresses);
  if (!judgement.has_value()) return std::nullopt;
  judged.judgement = *std::move(judgement);
  return judged;
}

JudgedLookup JudgeAndLookUp(const ServiceContext& context, auth::Hearing* hearing, const access::RequestFacts& facts) {
  JudgedLookup judged;
  judged.judgement.outcome = auth::Judgement::Outcome::kAllowed;
  if (HasAddress(facts)) {
    judged.result = ResultOf(facts);
  } else {
    if (hearing != nullptr) judged.judgement = hearing->JudgeBlocking(facts, auth::Stage::kBeforeResolution);
    if (judged.judgement.outcome == auth::Judgement::Outcome::kDenied) return judged;
    // DNS is what each server has before the next is asked; the resolver itself gives up once all had theirs.
    const sys::MonotonicNanos deadline =
        sys::Clock::System().Now() + context.options->timeouts.dns * static_cast<int64_t>(dns::kMaxNameServers);
    judged.result = context.resolver->ResolveBlocking(QueryFor(context, facts), deadline);
  }
  SetPorts(facts.port, judged.result);
  if (hearing != nullptr) judged.judgement = hearing->JudgeCandidatesBlocking(facts, judged.result.addresses);
  return judged;
}

std::unique_ptr<auth::Hearing> HearingFor(const ServiceContext& context, auth::Claim claim, int64_t began_wall_nanos) {
  if (context.IsOpen()) return nullptr;
  return std::make_unique<auth::Hearing>(context.GateNow(), std::move(claim), began_wall_nanos);
}

access::RequestFacts FactsOf(const accounting::TrafficRecord& record, access::Operation operation, uint16_t port) {
  access::RequestFacts facts;
  facts.client = record.client;
  facts.host = record.host.view();
  facts.target = record.Requested();
  facts.port = port;
  facts.operation = operation;
  return facts;
}

}  // namespace sluice::service
