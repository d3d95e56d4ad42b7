#include "protocols/auth/review.h"

#include <optional>
#include <string>

#include "protocols/access/rule.h"
#include "protocols/accounting/result_code.h"
#include "protocols/auth/judgement.h"
#include "protocols/auth/password.h"

namespace sluice::auth {
namespace {

// Knows what was found out when the session began.
class Remembering final : public Prover {
 public:
  Remembering(const Gate& before, const Gate& now, Proof proof, absl::string_view user)
      : before_(before), now_(now), proof_(proof), user_(user) {}

  std::optional<Proven> Prove(Method method, const access::RequestFacts&) override {
    Proven proven;
    proven.code = accounting::result::kUserRequired;
    switch (method) {
      case Method::kUserOnly:
        return user_.empty() ? proven : Known(proof_ == Proof::kNone ? Proof::kName : proof_);
      case Method::kStrong:
        return HasSamePassword() ? Known(proof_) : proven;
      case Method::kDnsName:
        return proof_ == Proof::kClientName ? Known(proof_) : proven;
      case Method::kRadius:
        return proof_ == Proof::kRadius ? Known(proof_) : proven;
      case Method::kCache:
      case Method::kCacheAcl:
        proven.kind = Proven::Kind::kPassed;
        return proven;
      case Method::kNone:
      case Method::kIpOnly:
        break;
    }
    return proven;
  }

 private:
  bool HasSamePassword() const {
    if (proof_ != Proof::kPassword) return false;
    const Password* const then = before_.options().users->Find(user_);
    const Password* const today = now_.options().users->Find(user_);
    return then != nullptr && today != nullptr && *then == *today;
  }
  Proven Known(Proof proof) const {
    Proven proven;
    proven.kind = Proven::Kind::kKnown;
    proven.identity.user = std::string(user_);
    proven.identity.proof = proof;
    return proven;
  }

  const Gate& before_;
  const Gate& now_;
  const Proof proof_;
  const absl::string_view user_;
};

bool IsSameRule(const access::Rule* a, const access::Rule* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->SameAs(*b);
}

}  // namespace

Judgement JudgeKnown(const Gate& before, const Gate& now, Proof proof, const access::RequestFacts& facts, Stage stage,
                     int64_t began_wall_nanos) {
  Remembering prover(before, now, proof, facts.user);
  return *now.Walk(prover, facts, stage, began_wall_nanos);
}

relay::Review ReviewSession(const Gate& before, const Gate& now, Proof proof, const access::RequestFacts& facts,
                            int64_t began_wall_nanos) {
  if (&before == &now || !now.options().force) return relay::Review::kKept;
  // A client whose targets are still to come (UDP) may go on as long as there can be any for it.
  const bool any_target = facts.host.empty() && facts.target.family() == sys::AddressFamily::kNone;
  const Stage stage = any_target ? Stage::kBeforeResolution : Stage::kFinal;
  const Judgement today = JudgeKnown(before, now, proof, facts, stage, began_wall_nanos);
  if (today.outcome == Judgement::Outcome::kDenied) return relay::Review::kRevoked;
  const Judgement then = JudgeKnown(before, before, proof, facts, stage, began_wall_nanos);
  return IsSameRule(then.verdict.rule, today.verdict.rule) ? relay::Review::kKept : relay::Review::kChanged;
}

}  // namespace sluice::auth
