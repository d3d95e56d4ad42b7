#include "protocols/access/limits/limit_set.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "protocols/access/limits/limit_state.h"

namespace sluice::access {
namespace {

// A place in a limit of connections, given back at the end.
class Place {
 public:
  explicit Place(std::shared_ptr<ConnectionLimit> limit) : limit_(std::move(limit)) {}
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    if (undone_) {
      limit_->Undo();
    } else {
      limit_->Return();
    }
  }
  void Undo() { undone_ = true; }

 private:
  const std::shared_ptr<ConnectionLimit> limit_;
  bool undone_ = false;
};

relay::SessionLimits& LimitsOf(LimitSet::Grant& grant) {
  if (grant.limits == nullptr) grant.limits = std::make_unique<relay::SessionLimits>();
  return *grant.limits;
}

void Unite(Reads& all, const Reads& some) {
  all.user |= some.user;
  all.source |= some.source;
  all.target_address |= some.target_address;
  all.target_local |= some.target_local;
  all.target_name |= some.target_name;
  all.port |= some.port;
  all.operation |= some.operation;
  all.time |= some.time;
}

}  // namespace

const char* LimitKindName(LimitKind kind) {
  switch (kind) {
    case LimitKind::kConnections:
      return "connlim";
    case LimitKind::kBandwidthIn:
      return "bandlimin";
    case LimitKind::kBandwidthOut:
      return "bandlimout";
    case LimitKind::kCountIn:
      return "countin";
    case LimitKind::kCountOut:
      return "countout";
    case LimitKind::kCountAll:
      return "countall";
  }
  return "limit";
}

template <typename Visit>
void LimitSet::ForEach(LimitKind kind, const RequestFacts& facts, Visit visit) const {
  const List& list = lists_[static_cast<size_t>(kind)];
  if (list.lines.empty()) return;
  list.rules->ForEachMatch(facts, [&](const Rule& rule) {
    if (rule.action == Rule::Action::kDeny) return false;
    const auto index = static_cast<size_t>(&rule - list.rules->rules().data());
    return static_cast<bool>(visit(list.lines[index], *list.states[index]));
  });
}

LimitSet::Grant LimitSet::Admit(const RequestFacts& facts, sys::MonotonicNanos now) const {
  Grant grant;
  // What costs nothing to refuse comes first.
  if (!TakeCounters(facts, now, grant) || !TakePlaces(facts, now, grant)) {
    grant.limits.reset();
    return grant;
  }
  TakeBandwidth(facts, now, grant);
  return grant;
}

bool LimitSet::TakeCounters(const RequestFacts& facts, sys::MonotonicNanos now, Grant& grant) const {
  for (const LimitKind kind : {LimitKind::kCountIn, LimitKind::kCountOut, LimitKind::kCountAll}) {
    ForEach(kind, facts, [&](const LimitRule& line, LimitState& state) {
      std::shared_ptr<accounting::Counter> counter = state.Counter(line, facts, now);
      if (counter->bytes().left() == 0) {
        grant.result = accounting::result::kTrafficLimit;
        grant.refused_by = &line;
        return false;
      }
      // The counter as a whole stays, not only its bytes: it is not forgotten while somebody adds to it.
      const std::shared_ptr<relay::ByteCounter> bytes(counter, &counter->bytes());
      if (kind != LimitKind::kCountOut) LimitsOf(grant).from_upstream.Add(bytes);
      if (kind != LimitKind::kCountIn) LimitsOf(grant).from_client.Add(bytes);
      return true;
    });
    if (!grant.ok()) return false;
  }
  return true;
}

bool LimitSet::TakePlaces(const RequestFacts& facts, sys::MonotonicNanos now, Grant& grant) const {
  std::vector<std::shared_ptr<Place>> taken;
  ForEach(LimitKind::kConnections, facts, [&](const LimitRule& line, LimitState& state) {
    std::shared_ptr<ConnectionLimit> limit = state.Places(line, facts, now);
    if (!limit->Take(now)) {
      grant.result = accounting::result::kConnectionLimit;
      grant.refused_by = &line;
      return false;
    }
    taken.push_back(std::make_shared<Place>(std::move(limit)));
    return true;
  });
  if (!grant.ok()) {
    for (const auto& place : taken) place->Undo();
    return false;
  }
  for (auto& place : taken) LimitsOf(grant).held.push_back(std::move(place));
  return true;
}

void LimitSet::TakeBandwidth(const RequestFacts& facts, sys::MonotonicNanos now, Grant& grant) const {
  // Each read takes its turn of all of them, so there must be an end.
  constexpr int kMostRates = 10;
  for (const LimitKind kind : {LimitKind::kBandwidthIn, LimitKind::kBandwidthOut}) {
    int rates = 0;
    ForEach(kind, facts, [&](const LimitRule& line, LimitState& state) {
      relay::SessionLimits& limits = LimitsOf(grant);
      (kind == LimitKind::kBandwidthIn ? limits.from_upstream : limits.from_client).Add(state.Rate(line, facts, now));
      return ++rates < kMostRates;
    });
  }
}

std::shared_ptr<const LimitSet> LimitRegistry::Make(const std::vector<LimitRule>& lines) {
  auto set = std::make_shared<LimitSet>();
  std::vector<std::pair<std::string, std::shared_ptr<LimitState>>> states;
  std::array<std::vector<Rule>, kLimitKinds> rules;
  for (const LimitRule& line : lines) {
    const auto kind = static_cast<size_t>(line.kind);
    Rule rule;
    rule.action = line.exempts ? Rule::Action::kDeny : Rule::Action::kAllow;
    rule.location = line.location;
    rule.conditions = line.conditions;
    rules[kind].push_back(std::move(rule));
    LimitSet::List& list = set->lists_[kind];
    list.lines.push_back(line);
    list.states.emplace_back();
    if (line.exempts) continue;
    // Of lines with the same words the first is the first again.
    const std::string name = absl::StrCat(LimitKindName(line.kind), " ", line.number, " ", line.identity);
    const auto ordinal = std::count_if(states.begin(), states.end(), [&](const auto& s) { return s.first == name; });
    auto nth = states_.end();
    int64_t seen = 0;
    for (auto it = states_.begin(); it != states_.end(); ++it) {
      if (it->first == name && seen++ == ordinal) nth = it;
    }
    if (nth == states_.end()) {
      list.states.back() = std::make_shared<LimitState>(line, counters_);
    } else {
      list.states.back() = nth->second;
      nth->second->Follow(line);
    }
    states.emplace_back(name, list.states.back());
  }
  for (const auto& [name, state] : states_) {
    const bool is_kept =
        std::any_of(states.begin(), states.end(), [&, &kept = state](const auto& s) { return s.second == kept; });
    if (!is_kept) state->Forget();
  }
  states_ = std::move(states);
  if (lines.empty()) return nullptr;
  for (size_t kind = 0; kind < rules.size(); ++kind) {
    set->lists_[kind].rules = RuleSet::Compile(std::move(rules[kind]));
    Unite(set->reads_, set->lists_[kind].rules->reads());
  }
  return set;
}

}  // namespace sluice::access
