#ifndef SLUICE_PROTOCOLS_ACCESS_RULE_SET_H_
#define SLUICE_PROTOCOLS_ACCESS_RULE_SET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "protocols/access/request_facts.h"
#include "protocols/access/rule.h"
#include "protocols/access/verdict.h"

namespace sluice::access {

class RuleIndex;

// What the rules of a set look at: the union of their lists.
struct Reads {
  bool user = false;
  bool source = false;
  bool target_address = false;  // ranges, or `local`
  bool target_local = false;
  bool target_name = false;
  bool port = false;
  bool operation = false;
  bool time = false;  // weekdays or periods

  bool target() const { return target_address || target_name || port; }
};

// The rules of a service, in their order, of which the first that matches decides. Compiled, so that a decision takes
// about the same time with ten rules and with thirty thousand (bench/micro).
//
// A rule matches when each of its lists does:
//  * users: the name, exactly. No name is "-".
//  * sources, target ranges: the address lies in one of the ranges; the families must be the same.
//  * targets: any range, any name pattern, or `local`. Patterns are compared with `host` without its dots at the end
//    and without regard to case; where the client gave an address, with its text.
//  * ports: the port lies in one of the spans.
//  * operations, weekdays, periods: it is one of them.
//
// What a request does not say, a rule cannot limit. Where there is no address, a list of targets counts as matching if
// it has ranges and no patterns, or if there is no name either; where there is no port (0), so does a list of ports,
// but for BIND. That is 3proxy's rule; a caller that will know the address asks Foresee() first.
//
// An empty set allows everybody. In any other, a request that no rule matches is denied (kNoMatch).
//
// Immutable; thread-safe. Never blocks.
class RuleSet {
 public:
  // Never fails: what a rule may say is checked where it is read (protocols/config).
  static std::shared_ptr<const RuleSet> Compile(std::vector<Rule> rules);
  ~RuleSet();

  // The verdict on all that there is to know: never kNeedsAddress.
  Verdict Decide(const RequestFacts& facts) const;

  // The verdict before all is known: kNeedsAddress unless it is the same whatever address the target turns out to have,
  // or denied either way. Without a `host`, whatever target is meant. REQUIRES: facts.target is kNone.
  Verdict Foresee(const RequestFacts& facts) const;

  // Every rule that matches, in order, until `visit` returns false: for limits, all of which count. Asks as Decide().
  void ForEachMatch(const RequestFacts& facts, absl::FunctionRef<bool(const Rule& rule)> visit) const;

  // Whether the verdict on this client (user, source, operation, time) depends on its target at all. If not, the
  // datagrams of an association need not be judged one by one (3proxy's "preauth").
  bool LimitsTargetsOf(const RequestFacts& facts) const;

  bool empty() const { return rules_.empty(); }
  const std::vector<Rule>& rules() const { return rules_; }
  const Reads& reads() const { return reads_; }

 private:
  explicit RuleSet(std::vector<Rule> rules);
  Verdict VerdictOf(uint32_t rule) const;

  const std::vector<Rule> rules_;
  Reads reads_;
  std::unique_ptr<const RuleIndex> index_;
};

}  // namespace sluice::access

#endif  // SLUICE_PROTOCOLS_ACCESS_RULE_SET_H_
