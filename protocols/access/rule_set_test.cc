#include "protocols/access/rule_set.h"

#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "protocols/access/testing/naive_rules.h"

namespace sluice::access {
namespace {

using sys::SocketAddress;

std::string Describe(const RequestFacts& facts) {
  return "user '" + std::string(facts.user) + "' from " + facts.client.ToString() + " to '" + std::string(facts.host) +
         "' " + facts.target.ToString() + " port " + std::to_string(facts.port) + " " + OperationName(facts.operation) +
         " day " + std::to_string(facts.time.weekday) + " second " + std::to_string(facts.time.second) + " weight " +
         std::to_string(facts.weight);
}

int NumberOf(const Verdict& verdict) { return verdict.rule == nullptr ? -1 : verdict.rule->location.line - 1; }

// Of what is not known yet: the number of the rule that decides in any case, -1 for none, -2 where it depends.
int NaiveForesee(const std::vector<Rule>& rules, const RequestFacts& facts) {
  bool may_deny = false;
  for (size_t i = 0; i < rules.size(); ++i) {
    const std::optional<bool> matches = NaiveMatch(rules[i], facts);
    const bool allows = rules[i].action == Rule::Action::kAllow;
    if (!matches.has_value()) {
      if (allows) return -2;
      may_deny = true;
    } else if (*matches) {
      return allows && may_deny ? -2 : static_cast<int>(i);
    }
  }
  return -1;
}

bool NaiveLimits(const std::vector<Rule>& rules, RequestFacts facts) {
  facts.host = {};
  facts.target = {};
  facts.port = 0;
  for (const Rule& rule : rules) {
    const std::optional<bool> matches = NaiveMatch(rule, facts);
    if (!matches.has_value()) return true;
    if (*matches) return false;
  }
  return false;
}

void Compare(RandomRules& random, int most_rules, int requests) {
  const std::vector<Rule> rules = random.Rules(most_rules);
  const std::shared_ptr<const RuleSet> set = RuleSet::Compile(rules);
  for (int i = 0; i < requests; ++i) {
    RequestFacts facts = random.Request();
    const Verdict verdict = set->Decide(facts);
    ASSERT_EQ(NumberOf(verdict), NaiveFirst(rules, facts)) << Describe(facts);
    if (verdict.rule == nullptr) {
      ASSERT_EQ(verdict.outcome, rules.empty() ? Verdict::Outcome::kAllowed : Verdict::Outcome::kNoMatch);
    } else {
      ASSERT_EQ(verdict.allowed(), verdict.rule->action == Rule::Action::kAllow);
    }
    std::vector<int> all, naive;
    set->ForEachMatch(facts, [&](const Rule& rule) {
      all.push_back(rule.location.line - 1);
      return true;
    });
    for (size_t r = 0; r < rules.size(); ++r) {
      if (NaiveFinalMatch(rules[r], facts)) naive.push_back(static_cast<int>(r));
    }
    ASSERT_EQ(all, naive) << Describe(facts);
    if (facts.operation != Operation::kBind) {
      ASSERT_EQ(set->LimitsTargetsOf(facts), NaiveLimits(rules, facts)) << Describe(facts);
    }
    facts.target = {};
    const Verdict foreseen = set->Foresee(facts);
    const int expected = NaiveForesee(rules, facts);
    ASSERT_EQ(foreseen.outcome == Verdict::Outcome::kNeedsAddress, expected == -2) << Describe(facts);
    if (expected != -2) {
      ASSERT_EQ(NumberOf(foreseen), expected) << Describe(facts);
    }
  }
}

TEST(RuleSetTest, CompiledRulesDecideAsAWalkDoes) {
  RandomRules random(1);
  for (int i = 0; i < 3000 && !HasFatalFailure(); ++i) Compare(random, 12, 40);
}

TEST(RuleSetTest, ManyRulesDecideAsAWalkDoes) {
  RandomRules random(2);
  for (int i = 0; i < 10 && !HasFatalFailure(); ++i) Compare(random, 3000, 60);
}

// What Foresee() promises holds for every address that the name may turn out to have.
TEST(RuleSetTest, WhatIsForeseenComesTrue) {
  RandomRules random(3);
  int foreseen_allowed = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::shared_ptr<const RuleSet> set = RuleSet::Compile(random.Rules(10));
    for (int j = 0; j < 10; ++j) {
      RequestFacts facts = random.Request();
      if (facts.host.empty() || facts.port == 0) continue;
      facts.target = {};
      const Verdict foreseen = set->Foresee(facts);
      if (foreseen.outcome == Verdict::Outcome::kNeedsAddress) continue;
      foreseen_allowed += foreseen.allowed() ? 1 : 0;
      for (int k = 0; k < 20; ++k) {
        facts.target = random.Address();
        const Verdict verdict = set->Decide(facts);
        ASSERT_EQ(verdict.allowed(), foreseen.allowed()) << Describe(facts);
        if (verdict.allowed()) {
          ASSERT_EQ(verdict.rule, foreseen.rule) << Describe(facts);
        }
      }
    }
  }
  EXPECT_GT(foreseen_allowed, 1000);
}

TEST(RuleSetTest, WithoutRulesEverybodyMay) {
  const auto set = RuleSet::Compile({});
  EXPECT_EQ(set->Decide({}).outcome, Verdict::Outcome::kAllowed);
  EXPECT_EQ(set->Foresee({}).outcome, Verdict::Outcome::kAllowed);
  EXPECT_FALSE(set->LimitsTargetsOf({}));
}

TEST(RuleSetTest, KnowsWhatItReads) {
  Rule rule;
  rule.conditions.users = {"a"};
  rule.conditions.target_local = true;
  Rule other;
  other.conditions.periods = {{0, 10}};
  other.conditions.ports = {{1, 2}};
  const auto set = RuleSet::Compile({rule, other});
  const Reads& reads = set->reads();
  EXPECT_TRUE(reads.user && reads.target_address && reads.target_local && reads.time && reads.port && reads.target());
  EXPECT_FALSE(reads.source || reads.target_name || reads.operation);
}

// Thousands of names that share beginnings and ends.
TEST(RuleSetTest, ManyPatternsOfOneKindStayApart) {
  std::vector<Rule> rules;
  for (int i = 0; i < 4000; ++i) {
    Rule rule;
    rule.location = {"names.cfg", i + 1};
    rule.conditions.target_names = {{static_cast<NamePattern::Kind>(i % 4), "host" + std::to_string(i) + "x.example"}};
    rules.push_back(rule);
  }
  const auto set = RuleSet::Compile(rules);
  for (int i = 0; i < 4000; ++i) {
    const std::string text = "host" + std::to_string(i) + "x.example";
    const std::string name = i % 4 == 0   ? text
                             : i % 4 == 1 ? text + ".org"
                             : i % 4 == 2 ? "a." + text
                                          : "a." + text + "z";
    RequestFacts facts;
    facts.host = name;
    EXPECT_EQ(NumberOf(set->Decide(facts)), i) << name;
    const std::string other = "h" + name + "q";
    facts.host = other;
    EXPECT_EQ(NumberOf(set->Decide(facts)), i % 4 == 3 ? i : -1) << other;
  }
}

}  // namespace
}  // namespace sluice::access
