#ifndef SLUICE_PROTOCOLS_AUTH_JUDGEMENT_H_
#define SLUICE_PROTOCOLS_AUTH_JUDGEMENT_H_

#include <cstdint>
#include <memory>

#include "protocols/access/rule_set.h"
#include "protocols/access/verdict.h"
#include "protocols/accounting/result_code.h"
#include "protocols/auth/identity.h"

namespace sluice::auth {

// What `auth` and the rules of a service make of one request.
//
// Thread-compatible; copies.
struct Judgement {
  enum class Outcome : uint8_t {
    kAllowed,
    kDenied,
    kNeedsAddress,  // it depends on the address of the target, which was not known
  };
  Outcome outcome = Outcome::kDenied;
  accounting::ResultCode result;  // of a denial: 1, 3 to 8, 10
  Identity identity;
  // The rule that decided, its parents, whether to log. Lives as long as `rules`.
  access::Verdict verdict;
  std::shared_ptr<const access::RuleSet> rules;

  bool allowed() const { return outcome == Outcome::kAllowed; }
};

}  // namespace sluice::auth

#endif  // SLUICE_PROTOCOLS_AUTH_JUDGEMENT_H_
