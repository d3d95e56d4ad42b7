#ifndef SLUICE_PROTOCOLS_ACCESS_VERDICT_H_
#define SLUICE_PROTOCOLS_ACCESS_VERDICT_H_

#include <cstdint>

#include "protocols/access/rule.h"

namespace sluice::access {

// What rules say of a request. The rule lives as long as its RuleSet.
struct Verdict {
  enum class Outcome : uint8_t {
    kAllowed,
    kDenied,
    kNoMatch,       // there are rules and none matches: denied, but with code 3
    kNeedsAddress,  // of Foresee() only: it depends on the address of the target
  };
  Outcome outcome = Outcome::kAllowed;
  // The first that matches. Null: none decided, since there are none, none matches, or none was asked (`auth none`).
  const Rule* rule = nullptr;

  bool allowed() const { return outcome == Outcome::kAllowed; }
  bool log() const { return rule == nullptr || rule->log; }
  int weight() const { return rule == nullptr ? 0 : rule->weight; }
  // Null: direct.
  const upstream::ParentList* parents() const { return rule == nullptr ? nullptr : rule->parents.get(); }

  friend bool operator==(const Verdict& a, const Verdict& b) { return a.outcome == b.outcome && a.rule == b.rule; }
};

}  // namespace sluice::access

#endif  // SLUICE_PROTOCOLS_ACCESS_VERDICT_H_
