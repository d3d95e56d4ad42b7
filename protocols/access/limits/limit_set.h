#ifndef SLUICE_PROTOCOLS_ACCESS_LIMITS_LIMIT_SET_H_
#define SLUICE_PROTOCOLS_ACCESS_LIMITS_LIMIT_SET_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "protocols/access/limits/limit_rule.h"
#include "protocols/access/request_facts.h"
#include "protocols/access/rule_set.h"
#include "protocols/accounting/counters/counter_store.h"
#include "protocols/accounting/result_code.h"
#include "relay/session_limits.h"
#include "sys/thread/clock.h"

namespace sluice::access {

class LimitState;

// The limits of a configuration, all services together: what a request is charged with, and whether there is room for
// it.
//
// Made by LimitRegistry. Immutable (what it counts is not); thread-safe, also on workers.
class LimitSet {
 public:
  // What was found for one request.
  struct Grant {
    accounting::ResultCode result;                 // not ok: refused
    const LimitRule* refused_by = nullptr;         // lives as long as the set
    std::unique_ptr<relay::SessionLimits> limits;  // null: nothing limits it
    bool ok() const { return result.ok(); }
  };

  // Asks all rules, with all that is known of the request; a rule that limits what is not known (an address behind a
  // name) counts as matching (RuleSet). Refused, it has charged nobody.
  Grant Admit(const RequestFacts& facts, sys::MonotonicNanos now) const;

  // What the rules look at: whoever keeps a grant for several requests asks anew when that changes.
  const Reads& reads() const { return reads_; }

 private:
  friend class LimitRegistry;

  struct List {
    std::shared_ptr<const RuleSet> rules;  // allow = charges, deny = exempts
    std::vector<LimitRule> lines;          // parallel to rules->rules()
    std::vector<std::shared_ptr<LimitState>> states;
  };

  // Calls visit(line, state) for each rule that charges the request, until it returns false.
  template <typename Visit>
  void ForEach(LimitKind kind, const RequestFacts& facts, Visit visit) const;
  bool TakeCounters(const RequestFacts& facts, sys::MonotonicNanos now, Grant& grant) const;
  bool TakePlaces(const RequestFacts& facts, sys::MonotonicNanos now, Grant& grant) const;
  void TakeBandwidth(const RequestFacts& facts, sys::MonotonicNanos now, Grant& grant) const;

  std::array<List, kLimitKinds> lists_;
  Reads reads_;
};

// What limits have counted, over reloads: a line that is found again (LimitRule::identity; a numbered counter by its
// number) goes on with what it has, under its new numbers; sessions that hold one which is gone are no longer limited
// by it.
//
// Main thread only; what it makes is not.
class LimitRegistry {
 public:
  // `counters` must outlive this object and all that it makes.
  explicit LimitRegistry(accounting::CounterStore* counters) : counters_(counters) {}

  // Null where there are no lines.
  std::shared_ptr<const LimitSet> Make(const std::vector<LimitRule>& lines);

 private:
  accounting::CounterStore* const counters_;
  // By kind, identity and ordinal among equals.
  std::vector<std::pair<std::string, std::shared_ptr<LimitState>>> states_;
};

}  // namespace sluice::access

#endif  // SLUICE_PROTOCOLS_ACCESS_LIMITS_LIMIT_SET_H_
