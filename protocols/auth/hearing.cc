#include "protocols/auth/hearing.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "protocols/accounting/result_code.h"
#include "protocols/auth/hashing_slots.h"
#include "protocols/auth/password.h"
#include "protocols/dns/question.h"
#include "protocols/dns/result.h"
#include "sys/thread/clock.h"

namespace sluice::auth {
namespace {

namespace result = accounting::result;

Prover::Proven Failed(accounting::ResultCode code) { return {Prover::Proven::Kind::kFailed, code, {}}; }

Prover::Proven Known(std::string user, Proof proof) {
  Prover::Proven proven;
  proven.kind = Prover::Proven::Kind::kKnown;
  proven.identity.user = std::move(user);
  proven.identity.proof = proof;
  return proven;
}

bool AsksPassword(const AuthOptions& auth) { return auth.Uses(Method::kStrong) || auth.Uses(Method::kRadius); }

// Whether a request that `method` has let in may open the way for others. A name that nobody has checked must not pass
// for one that was, where the chain asks for passwords.
bool IsWorthKeeping(Method method, const AuthOptions& auth) {
  switch (method) {
    case Method::kStrong:
    case Method::kRadius:
      return true;
    case Method::kDnsName:
      return Has(auth.cache.fields, CacheField::kAddress);
    case Method::kUserOnly:
      return !AsksPassword(auth);
    case Method::kNone:
    case Method::kIpOnly:
    case Method::kCache:
    case Method::kCacheAcl:
      break;
  }
  return false;
}

}  // namespace

Hearing::Hearing(std::shared_ptr<const Gate> gate, Claim claim, int64_t began_wall_nanos)
    : gate_(std::move(gate)), claim_(std::move(claim)), began_wall_nanos_(began_wall_nanos) {}

Hearing::~Hearing() { explicit_bzero(claim_.password.data(), claim_.password.size()); }

std::optional<Judgement> Hearing::TryJudge(const access::RequestFacts& facts, Stage stage) {
  may_block_ = false;
  return gate_->Walk(*this, facts, stage, began_wall_nanos_);
}

Judgement Hearing::JudgeBlocking(const access::RequestFacts& facts, Stage stage) {
  may_block_ = true;
  return *gate_->Walk(*this, facts, stage, began_wall_nanos_);
}

std::optional<Judgement> Hearing::TryJudgeCandidates(access::RequestFacts facts,
                                                     std::vector<sys::SocketAddress>& candidates) {
  may_block_ = false;
  return JudgeCandidates(std::move(facts), candidates);
}

Judgement Hearing::JudgeCandidatesBlocking(access::RequestFacts facts, std::vector<sys::SocketAddress>& candidates) {
  may_block_ = true;
  return *JudgeCandidates(std::move(facts), candidates);
}

std::optional<Judgement> Hearing::JudgeCandidates(access::RequestFacts facts,
                                                  std::vector<sys::SocketAddress>& candidates) {
  if (candidates.empty()) {
    facts.target = {};
    return gate_->Walk(*this, std::move(facts), Stage::kFinal, began_wall_nanos_);
  }
  std::optional<Judgement> chosen;
  std::vector<sys::SocketAddress> kept;
  for (const sys::SocketAddress& candidate : candidates) {
    facts.target = candidate;
    std::optional<Judgement> judgement = gate_->Walk(*this, facts, Stage::kFinal, began_wall_nanos_);
    if (!judgement.has_value()) return std::nullopt;
    if (!judgement->allowed()) {
      if (!chosen.has_value()) chosen = std::move(judgement);
      continue;
    }
    const bool same = chosen.has_value() && chosen->verdict == judgement->verdict &&
                      chosen->identity.user == judgement->identity.user;
    if (!chosen.has_value() || !chosen->allowed() || same) {
      kept.push_back(candidate);
      chosen = std::move(judgement);
    }
  }
  candidates = std::move(kept);
  return chosen;
}

std::optional<Identity> Hearing::TryEstablish(const access::RequestFacts& facts) {
  may_block_ = false;
  return Establish(facts);
}

Identity Hearing::EstablishBlocking(const access::RequestFacts& facts) {
  may_block_ = true;
  return *Establish(facts);
}

std::optional<Identity> Hearing::Establish(const access::RequestFacts& facts) {
  for (const Method method : gate_->options().auth.chain) {
    if (method == Method::kNone || method == Method::kIpOnly) continue;
    std::optional<Proven> proven = Prove(method, facts);
    if (!proven.has_value()) return std::nullopt;
    if (proven->kind == Proven::Kind::kKnown) return proven->identity;
    if (proven->code.number > failure_.number) failure_ = proven->code;
  }
  return Identity();
}

std::optional<Prover::Proven> Hearing::Prove(Method method, const access::RequestFacts& facts) {
  switch (method) {
    case Method::kUserOnly:
      return claim_.user.empty() ? Failed(result::kUserRequired) : Known(claim_.user, Proof::kName);
    case Method::kStrong:
      return ProvePassword();
    case Method::kDnsName:
      return ProveClientName(facts.client);
    case Method::kCache:
    case Method::kCacheAcl:
      return LookUp(facts);
    case Method::kRadius:
    case Method::kNone:
    case Method::kIpOnly:
      break;
  }
  // A configuration that names what is not there is not loaded.
  return Failed(result::kInternal);
}

std::optional<Prover::Proven> Hearing::ProvePassword() {
  if (claim_.user.empty()) return Failed(result::kUserRequired);
  if (password_.has_value()) return password_;
  const UserTable& users = *gate_->options().users;
  const Password* const password = users.Find(claim_.user);
  const Password* const checked = password != nullptr ? password : users.decoy();
  bool right = false;
  if (checked != nullptr && checked->dear()) {
    if (!may_block_) return std::nullopt;
    const HashingSlots::Hold hold(HashingSlots::OfProcess());
    right = checked->Matches(claim_.password);
  } else if (checked != nullptr) {
    right = checked->Matches(claim_.password);
  }
  if (password == nullptr) {
    password_ = Failed(result::kUnknownUser);
  } else {
    password_ = right ? Known(claim_.user, Proof::kPassword) : Failed(password->wrong());
  }
  return password_;
}

// A name counts when looking it up leads back to the client.
std::optional<Prover::Proven> Hearing::ProveClientName(const sys::SocketAddress& client) {
  if (client_name_.has_value()) return client_name_;
  if (!client.is_ip()) return Failed(result::kNoClientName);
  if (!may_block_) return std::nullopt;
  client_name_ = Failed(result::kNoClientName);
  dns::Resolver& resolver = *gate_->options().resolver;
  const sys::MonotonicNanos deadline = sys::Clock::System().Now() + gate_->options().dns_nanos;
  for (std::string& name : resolver.ResolveNamesBlocking(client, deadline).names) {
    dns::Query query;
    query.name = name;
    const dns::Result found = resolver.ResolveBlocking(query, deadline);
    const bool leads_back =
        std::any_of(found.addresses.begin(), found.addresses.end(),
                    [&](const sys::SocketAddress& address) { return address.IpText() == client.IpText(); });
    if (!leads_back) continue;
    client_name_ = Known(std::move(name), Proof::kClientName);
    break;
  }
  return client_name_;
}

std::optional<AuthCache::Key> Hearing::CacheKey(const access::RequestFacts& facts) const {
  const GateOptions& options = gate_->options();
  return options.cache->KeyOf(claim_, facts, options.auth.Uses(Method::kRadius), options.rules.get(), options.listener);
}

Prover::Proven Hearing::LookUp(const access::RequestFacts& facts) const {
  AuthCache& cache = *gate_->options().cache;
  const sys::MonotonicNanos now = sys::Clock::System().Now();
  if (Has(cache.options().fields, CacheField::kLimit) && !claim_.user.empty() &&
      cache.IsElsewhere(claim_.user, facts.client, now)) {
    return {Proven::Kind::kOver, result::kAddressLimit, {}};
  }
  Proven proven;
  proven.kind = Proven::Kind::kPassed;
  const std::optional<AuthCache::Key> key = CacheKey(facts);
  if (!key.has_value()) return proven;
  if (std::optional<Identity> found = cache.Find(*key, now)) {
    proven.kind = Proven::Kind::kKnown;
    proven.identity = *std::move(found);
  }
  return proven;
}

void Hearing::OnAllowed(Method method, const Identity& identity, const access::RequestFacts& facts) {
  const GateOptions& options = gate_->options();
  if (options.cache == nullptr || !IsWorthKeeping(method, options.auth)) return;
  const sys::MonotonicNanos now = sys::Clock::System().Now();
  if (const std::optional<AuthCache::Key> key = CacheKey(facts)) options.cache->Put(*key, identity, now);
  if (Has(options.cache->options().fields, CacheField::kLimit)) {
    options.cache->NotePlace(identity.user, facts.client, now);
  }
}

}  // namespace sluice::auth
