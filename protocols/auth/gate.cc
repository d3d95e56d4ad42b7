#include "protocols/auth/gate.h"

#include <utility>

namespace sluice::auth {
namespace {

using access::Verdict;

accounting::ResultCode CodeOf(const Verdict& verdict) {
  return verdict.outcome == Verdict::Outcome::kDenied ? accounting::result::kDenied
                                                      : accounting::result::kNoRuleMatched;
}

Judgement::Outcome OutcomeOf(const Verdict& verdict) {
  switch (verdict.outcome) {
    case Verdict::Outcome::kAllowed:
      return Judgement::Outcome::kAllowed;
    case Verdict::Outcome::kNeedsAddress:
      return Judgement::Outcome::kNeedsAddress;
    case Verdict::Outcome::kDenied:
    case Verdict::Outcome::kNoMatch:
      break;
  }
  return Judgement::Outcome::kDenied;
}

}  // namespace

Gate::Gate(GateOptions options) : options_(std::move(options)) {
  if (options_.rules == nullptr) options_.rules = access::RuleSet::Compile({});
  if (options_.users == nullptr) options_.users = std::make_shared<const UserTable>();
  const Method first = options_.auth.chain.empty() ? Method::kIpOnly : options_.auth.chain.front();
  open_ = first == Method::kNone || (first == Method::kIpOnly && options_.rules->empty());
}

const std::shared_ptr<const Gate>& Gate::OpenToAll() {
  static const auto gate = std::make_shared<const Gate>(GateOptions());
  return gate;
}

Verdict Gate::Ask(const access::RequestFacts& facts, Stage stage) const {
  const access::RuleSet& rules = *options_.rules;
  const bool pending = stage == Stage::kBeforeResolution && facts.target.family() == sys::AddressFamily::kNone;
  return pending ? rules.Foresee(facts) : rules.Decide(facts);
}

std::shared_ptr<const access::OwnAddresses> Gate::FillIn(access::RequestFacts& facts, int64_t began_wall_nanos) const {
  const access::Reads& reads = options_.rules->reads();
  if (reads.time) facts.time = access::LocalTime::At(began_wall_nanos);
  if (!reads.target_local || options_.own_addresses == nullptr) return nullptr;
  std::shared_ptr<const access::OwnAddresses> own = options_.own_addresses->Get();
  facts.own = own.get();
  return own;
}

Verdict Gate::Decide(access::RequestFacts facts, int64_t began_wall_nanos) const {
  const std::shared_ptr<const access::OwnAddresses> own = FillIn(facts, began_wall_nanos);
  return options_.rules->Decide(facts);
}

std::optional<Judgement> Gate::Walk(Prover& prover, access::RequestFacts facts, Stage stage,
                                    int64_t began_wall_nanos) const {
  const std::shared_ptr<const access::OwnAddresses> own = FillIn(facts, began_wall_nanos);
  Judgement judgement;
  judgement.rules = options_.rules;
  judgement.result = accounting::result::kOk;
  const auto note = [&](accounting::ResultCode code, const Verdict& verdict) {
    if (code.number <= judgement.result.number) return;
    judgement.result = code;
    judgement.verdict = verdict;
  };
  for (const Method method : options_.auth.chain) {
    if (method == Method::kNone) {
      judgement.outcome = Judgement::Outcome::kAllowed;
      judgement.result = accounting::result::kOk;
      judgement.verdict = {};
      return judgement;
    }
    Prover::Proven proven;
    proven.kind = Prover::Proven::Kind::kKnown;
    if (method != Method::kIpOnly) {
      std::optional<Prover::Proven> found = prover.Prove(method, facts);
      if (!found.has_value()) return std::nullopt;
      proven = *std::move(found);
    }
    if (proven.kind == Prover::Proven::Kind::kPassed) continue;
    if (proven.kind != Prover::Proven::Kind::kKnown) {
      note(proven.code, {Verdict::Outcome::kDenied, nullptr});
      if (proven.kind == Prover::Proven::Kind::kOver) return judgement;
      continue;
    }
    facts.user = proven.identity.user;
    const Verdict verdict = Ask(facts, stage);
    const Judgement::Outcome outcome = OutcomeOf(verdict);
    if (outcome == Judgement::Outcome::kDenied && method == Method::kIpOnly) {
      note(CodeOf(verdict), verdict);
      continue;
    }
    if (outcome == Judgement::Outcome::kAllowed) prover.OnAllowed(method, proven.identity, facts);
    judgement.outcome = outcome;
    judgement.result = outcome == Judgement::Outcome::kDenied ? CodeOf(verdict) : accounting::result::kOk;
    judgement.verdict = verdict;
    judgement.identity = std::move(proven.identity);
    return judgement;
  }
  // Nobody has said anything against it: a chain that holds nothing that could.
  if (judgement.result.ok()) judgement.result = accounting::result::kUserRequired;
  return judgement;
}

std::shared_ptr<const Gate> CurrentGate::Get() const {
  sys::MutexLock lock(mutex_);
  return gate_;
}

void CurrentGate::Set(std::shared_ptr<const Gate> gate) {
  sys::MutexLock lock(mutex_);
  gate_ = std::move(gate);
  pointer_.store(gate_.get(), std::memory_order_release);
}

}  // namespace sluice::auth
