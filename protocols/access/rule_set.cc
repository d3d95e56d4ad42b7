#include "protocols/access/rule_set.h"

#include <utility>

#include "protocols/access/rule_index.h"

namespace sluice::access {
namespace {

Reads ReadsOf(const std::vector<Rule>& rules) {
  Reads reads;
  for (const Rule& rule : rules) {
    const Conditions& c = rule.conditions;
    reads.user |= !c.users.empty();
    reads.source |= !c.sources.empty();
    reads.target_address |= c.limits_target_address();
    reads.target_local |= c.target_local;
    reads.target_name |= !c.target_names.empty();
    reads.port |= !c.ports.empty();
    reads.operation |= c.operations != 0;
    reads.time |= c.weekdays != 0 || !c.periods.empty();
  }
  return reads;
}

}  // namespace

RuleSet::RuleSet(std::vector<Rule> rules)
    : rules_(std::move(rules)), reads_(ReadsOf(rules_)), index_(std::make_unique<const RuleIndex>(rules_)) {}

RuleSet::~RuleSet() = default;

std::shared_ptr<const RuleSet> RuleSet::Compile(std::vector<Rule> rules) {
  return std::shared_ptr<const RuleSet>(new RuleSet(std::move(rules)));
}

Verdict RuleSet::VerdictOf(uint32_t rule) const {
  if (rules_.empty()) return {Verdict::Outcome::kAllowed, nullptr};
  if (rule == RuleIndex::kNone) return {Verdict::Outcome::kNoMatch, nullptr};
  const bool allows = rules_[rule].action == Rule::Action::kAllow;
  return {allows ? Verdict::Outcome::kAllowed : Verdict::Outcome::kDenied, &rules_[rule]};
}

Verdict RuleSet::Decide(const RequestFacts& facts) const {
  if (rules_.empty()) return {};
  return VerdictOf(index_->First(facts, RuleIndex::Mode::kFinal, /*only_allowing=*/false));
}

Verdict RuleSet::Foresee(const RequestFacts& facts) const {
  if (rules_.empty()) return {};
  const uint32_t certain = index_->First(facts, RuleIndex::Mode::kCertain, /*only_allowing=*/false);
  const Verdict verdict = VerdictOf(certain);
  // A rule before it that may match changes something only if one of the two allows.
  const uint32_t possible = index_->First(facts, RuleIndex::Mode::kPossible, /*only_allowing=*/!verdict.allowed());
  if (possible < certain) return {Verdict::Outcome::kNeedsAddress, nullptr};
  return verdict;
}

bool RuleSet::LimitsTargetsOf(const RequestFacts& facts) const {
  if (!reads_.target()) return false;
  RequestFacts any_target = facts;
  any_target.host = {};
  any_target.target = {};
  any_target.port = 0;
  const uint32_t certain = index_->First(any_target, RuleIndex::Mode::kCertain, false);
  return index_->First(any_target, RuleIndex::Mode::kPossible, false) < certain;
}

void RuleSet::ForEachMatch(const RequestFacts& facts, absl::FunctionRef<bool(const Rule& rule)> visit) const {
  index_->ForEach(facts, RuleIndex::Mode::kFinal, false, [&](uint32_t rule) { return visit(rules_[rule]); });
}

}  // namespace sluice::access
