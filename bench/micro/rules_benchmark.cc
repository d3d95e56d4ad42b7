// What a decision costs. bazel run -c opt //bench/micro:rules_benchmark

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "protocols/access/request_facts.h"
#include "protocols/access/rule_set.h"
#include "sys/net/socket_address.h"

namespace sluice::access {
namespace {

using sys::SocketAddress;

constexpr int kUsers = 10'000;
constexpr int kRules = 30'000;

AddressRange Block(uint32_t first, int bits) {
  return {SocketAddress::Ipv4(first, 0), SocketAddress::Ipv4(first | (0xffffffffu >> bits), 0)};
}

Rule MakeRule(int number) {
  Rule rule;
  rule.action = number % 3 == 2 ? Rule::Action::kDeny : Rule::Action::kAllow;
  rule.location = {"bench.cfg", number + 1};
  return rule;
}

// Each user has three rules: ports to a network, a name with everything below it, and a denied network.
std::vector<Rule> RulesOfUsers() {
  std::vector<Rule> rules;
  for (int i = 0; i < kRules; ++i) {
    Rule rule = MakeRule(i);
    const int user = i / 3;
    rule.conditions.users = {absl::StrCat("user", user)};
    if (i % 3 == 0) {
      rule.conditions.target_ranges = {Block(0x0a000000u + static_cast<uint32_t>(user) * 256, 24)};
      rule.conditions.ports = {{80, 80}, {443, 443}, {8000, 8999}};
    } else if (i % 3 == 1) {
      rule.conditions.target_names = {{NamePattern::Kind::kSuffix, absl::StrCat(".site", user, ".example")}};
    } else {
      rule.conditions.target_ranges = {Block(0xac100000u, 12)};
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

// Nothing in common with a user: networks and names, as lists of blocked sites have them.
std::vector<Rule> RulesOfTargets() {
  std::vector<Rule> rules;
  for (int i = 0; i < kRules; ++i) {
    Rule rule = MakeRule(i);
    if (i % 2 == 0) {
      rule.conditions.target_ranges = {Block(0x0b000000u + static_cast<uint32_t>(i) * 256, 24)};
    } else {
      rule.conditions.target_names = {{static_cast<NamePattern::Kind>(i % 4 == 1 ? 2 : 3), absl::StrCat("site", i)}};
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

// Every list of every rule matches nearly every request but one, so that all words of all dimensions are looked at.
std::vector<Rule> RulesThatAlmostMatch() {
  std::vector<Rule> rules;
  for (int i = 0; i < kRules; ++i) {
    Rule rule = MakeRule(i);
    rule.conditions.users = {i % 5 == 0 ? "nobody" : "user9999"};
    rule.conditions.sources = {Block(i % 5 == 1 ? 0x01000000u : 0x0a000000u, 8)};
    rule.conditions.target_ranges = {Block(i % 5 == 2 ? 0x01000000u : 0xc0000000u, 8)};
    rule.conditions.ports = {
        {static_cast<uint16_t>(i % 5 == 3 ? 1 : 443), static_cast<uint16_t>(i % 5 == 3 ? 1 : 443)}};
    rule.conditions.operations = SetOf(i % 5 == 4 ? Operation::kBind : Operation::kHttpConnect);
    rules.push_back(std::move(rule));
  }
  return rules;
}

RequestFacts Request() {
  RequestFacts facts;
  facts.user = "user9999";
  facts.client = SocketAddress::Ipv4(0x0a010203, 0);
  facts.host = "www.site9999.example";
  facts.target = SocketAddress::Ipv4(0xc0000201, 0);
  facts.port = 443;
  facts.operation = Operation::kHttpConnect;
  return facts;
}

void Decide(benchmark::State& state, std::vector<Rule> rules, const RequestFacts& facts) {
  const std::shared_ptr<const RuleSet> set = RuleSet::Compile(std::move(rules));
  for (auto _ : state) benchmark::DoNotOptimize(set->Decide(facts));
}

void BM_RulesOfUsersMatch(benchmark::State& state) { Decide(state, RulesOfUsers(), Request()); }
BENCHMARK(BM_RulesOfUsersMatch);

void BM_RulesOfUsersNoMatch(benchmark::State& state) {
  RequestFacts facts = Request();
  facts.host = "elsewhere.example";
  Decide(state, RulesOfUsers(), facts);
}
BENCHMARK(BM_RulesOfUsersNoMatch);

void BM_RulesOfTargetsNoMatch(benchmark::State& state) {
  RequestFacts facts = Request();
  facts.host = "a.rather.long.name.of.a.host.that.nobody.blocks.example.org";
  Decide(state, RulesOfTargets(), facts);
}
BENCHMARK(BM_RulesOfTargetsNoMatch);

void BM_RulesThatAlmostMatch(benchmark::State& state) { Decide(state, RulesThatAlmostMatch(), Request()); }
BENCHMARK(BM_RulesThatAlmostMatch);

void BM_ThreeRules(benchmark::State& state) {
  std::vector<Rule> rules = RulesOfUsers();
  rules.erase(rules.begin(), rules.end() - 3);
  Decide(state, std::move(rules), Request());
}
BENCHMARK(BM_ThreeRules);

void BM_CompileRulesOfUsers(benchmark::State& state) {
  const std::vector<Rule> rules = RulesOfUsers();
  for (auto _ : state) benchmark::DoNotOptimize(RuleSet::Compile(rules));
}
BENCHMARK(BM_CompileRulesOfUsers)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sluice::access
