#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "protocols/access/limits/connection_limit.h"
#include "protocols/access/limits/keyed.h"
#include "protocols/access/limits/limit_rule.h"
#include "protocols/access/limits/limit_set.h"

namespace sluice::access {
namespace {

constexpr int64_t kSecond = sys::kNanosPerSecond;
constexpr sys::MonotonicNanos kNow = 1'000'000 * kSecond;

RequestFacts From(absl::string_view client, absl::string_view user = "") {
  RequestFacts facts;
  facts.user = user;
  facts.client = *sys::SocketAddress::ParseIp(client, 1234);
  facts.host = "Example.COM.";
  facts.port = 443;
  return facts;
}

LimitRule Line(LimitKind kind, int64_t amount, int64_t period = 0) {
  LimitRule line;
  line.kind = kind;
  line.amount = amount;
  line.period_seconds = period;
  line.identity = absl::StrCat(static_cast<int>(kind));
  return line;
}

LimitRule Exempt(LimitKind kind) {
  LimitRule line = Line(kind, 0);
  line.exempts = true;
  return line;
}

LimitRule For(std::vector<std::string> users, LimitRule line) {
  line.conditions.users = std::move(users);
  return line;
}

class LimitsTest : public ::testing::Test {
 protected:
  std::shared_ptr<const LimitSet> Make(const std::vector<LimitRule>& lines) { return registry_.Make(lines); }

  accounting::CounterStore store_;
  LimitRegistry registry_{&store_};
};

TEST(ConnectionLimit, ParallelConnections) {
  ConnectionLimit limit(2, 0);
  EXPECT_TRUE(limit.Take(kNow));
  EXPECT_TRUE(limit.Take(kNow));
  EXPECT_FALSE(limit.Take(kNow + 1000 * kSecond));
  limit.Return();
  EXPECT_TRUE(limit.Take(kNow));
  limit.Return();
  limit.Return();
  EXPECT_TRUE(limit.IsUnused(kNow));
}

TEST(ConnectionLimit, AverageOverAPeriod) {
  ConnectionLimit limit(10, 60);
  int accepted = 0;
  for (int i = 0; i < 100; ++i) accepted += limit.Take(kNow) ? 1 : 0;
  EXPECT_EQ(accepted, 10) << "all at once";
  EXPECT_FALSE(limit.IsUnused(kNow));
  // From then on one in six seconds, however hard is knocked.
  accepted = 0;
  for (int second = 1; second <= 600; ++second) accepted += limit.Take(kNow + second * kSecond) ? 1 : 0;
  EXPECT_NEAR(accepted, 100, 15);
  EXPECT_TRUE(limit.IsUnused(kNow + 660 * kSecond)) << "a period without any clears it";
  limit.Set(1, 60);
  EXPECT_TRUE(limit.Take(kNow + 700 * kSecond));
  EXPECT_FALSE(limit.Take(kNow + 700 * kSecond));
}

TEST(ConnectionLimit, WhatWasUndoneDoesNotCount) {
  ConnectionLimit limit(1, 60);
  EXPECT_TRUE(limit.Take(kNow));
  limit.Undo();
  EXPECT_TRUE(limit.Take(kNow));
}

TEST(Keyed, NewcomersShareWhenTheTableIsFull) {
  Keyed<int> table(3);
  int unused = 0;
  const auto make = [](absl::string_view) { return std::make_shared<int>(0); };
  const auto is_unused = [&](const std::shared_ptr<int>& object) {
    return object.use_count() == 1 && *object == unused;
  };
  std::vector<std::shared_ptr<int>> held;
  for (const char* key : {"a", "b", "c"}) held.push_back(table.Get(key, kNow, make, is_unused));
  EXPECT_EQ(table.Get("a", kNow, make, is_unused), held[0]);
  const auto others = table.Get("d", kNow, make, is_unused);
  EXPECT_EQ(table.Get("e", kNow, make, is_unused), others);
  EXPECT_EQ(table.size(), 3u);
  held.clear();
  EXPECT_EQ(table.Get("f", kNow, make, is_unused), others) << "it was looked for room a moment ago";
  EXPECT_NE(table.Get("f", kNow + kSecond, make, is_unused), others);
  EXPECT_EQ(table.size(), 1u);
}

TEST_F(LimitsTest, NoLinesNoLimits) { EXPECT_EQ(Make({}), nullptr); }

TEST_F(LimitsTest, ConnlimIsGlobalAndGivenBackWithTheSession) {
  const auto set = Make({Line(LimitKind::kConnections, 2)});
  LimitSet::Grant one = set->Admit(From("192.0.2.1"), kNow);
  const LimitSet::Grant two = set->Admit(From("2001:db8::1"), kNow);
  ASSERT_TRUE(one.ok() && two.ok());
  const LimitSet::Grant three = set->Admit(From("192.0.2.3"), kNow);
  EXPECT_STREQ(three.result.name, "connection_limit");
  EXPECT_EQ(three.result.number, 10);
  ASSERT_NE(three.refused_by, nullptr);
  one.limits.reset();
  EXPECT_TRUE(set->Admit(From("192.0.2.3"), kNow).ok());
}

TEST_F(LimitsTest, EveryMatchingConnlimIsChargedUntilNoconnlim) {
  const auto set = Make({For({"bob"}, Line(LimitKind::kConnections, 1)), For({"bob"}, Exempt(LimitKind::kConnections)),
                         Line(LimitKind::kConnections, 1)});
  const auto bob = set->Admit(From("192.0.2.1", "bob"), kNow);
  EXPECT_TRUE(bob.ok());
  EXPECT_FALSE(set->Admit(From("192.0.2.1", "bob"), kNow).ok());
  const auto eve = set->Admit(From("192.0.2.1", "eve"), kNow);
  EXPECT_TRUE(eve.ok()) << "bob was not charged with the last one";
  EXPECT_FALSE(set->Admit(From("192.0.2.1", "joe"), kNow).ok());
}

TEST_F(LimitsTest, RefusalUndoesTheChargesBeforeIt) {
  const auto set = Make({Line(LimitKind::kConnections, 3), For({"eve"}, Line(LimitKind::kConnections, 0))});
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(set->Admit(From("192.0.2.1", "eve"), kNow).ok());
  std::vector<LimitSet::Grant> grants;
  for (int i = 0; i < 3; ++i) {
    grants.push_back(set->Admit(From("192.0.2.1", "bob"), kNow));
    EXPECT_TRUE(grants.back().ok()) << i;
  }
}

TEST_F(LimitsTest, PerUserSourceAndHost) {
  LimitRule user = Line(LimitKind::kConnections, 1);
  user.scope = LimitScope::kUser;
  auto set = Make({user});
  auto bob = set->Admit(From("192.0.2.1", "bob"), kNow);
  auto eve = set->Admit(From("192.0.2.1", "eve"), kNow);
  EXPECT_TRUE(bob.ok() && eve.ok());
  EXPECT_FALSE(set->Admit(From("198.51.100.1", "bob"), kNow).ok());

  LimitRule source = Line(LimitKind::kConnections, 1);
  source.scope = LimitScope::kSource;
  source.ipv4_bits = 24;
  set = Make({source});
  auto v4 = set->Admit(From("192.0.2.1"), kNow);
  auto v6 = set->Admit(From("2001:db8::1"), kNow);
  EXPECT_TRUE(v4.ok() && v6.ok());
  EXPECT_FALSE(set->Admit(From("192.0.2.255"), kNow).ok());
  EXPECT_FALSE(set->Admit(From("2001:db8::ffff:1"), kNow).ok()) << "of the same /64";
  EXPECT_TRUE(set->Admit(From("192.0.3.1"), kNow).ok());
  EXPECT_TRUE(set->Admit(From("2001:db8:0:1::1"), kNow).ok());

  LimitRule host = Line(LimitKind::kConnections, 1);
  host.scope = LimitScope::kHost;
  set = Make({host});
  RequestFacts facts = From("192.0.2.1");
  auto first = set->Admit(facts, kNow);
  EXPECT_TRUE(first.ok());
  facts.host = "example.com";
  EXPECT_FALSE(set->Admit(facts, kNow).ok());
  facts.host = "www.example.com";
  EXPECT_TRUE(set->Admit(facts, kNow).ok());
}

TEST_F(LimitsTest, BandwidthOfAllMatchingRulesAppliesToItsDirection) {
  const auto set = Make({Line(LimitKind::kBandwidthIn, 8000), For({"bob"}, Line(LimitKind::kBandwidthOut, 8000)),
                         For({"eve"}, Exempt(LimitKind::kBandwidthOut))});
  auto eve = set->Admit(From("192.0.2.1", "eve"), kNow);
  ASSERT_NE(eve.limits, nullptr);
  EXPECT_FALSE(eve.limits->from_upstream.empty());
  EXPECT_TRUE(eve.limits->from_client.empty());
  auto bob = set->Admit(From("192.0.2.1", "bob"), kNow);
  EXPECT_FALSE(bob.limits->from_client.empty());
}

TEST_F(LimitsTest, CountersAreSharedAndRefuseWhenTheyAreSpent) {
  LimitRule all = Line(LimitKind::kCountAll, 1000);
  LimitRule in = For({"bob"}, Line(LimitKind::kCountIn, 500));
  const auto set = Make({all, in});
  auto bob = set->Admit(From("192.0.2.1", "bob"), kNow);
  auto eve = set->Admit(From("192.0.2.1", "eve"), kNow);
  EXPECT_EQ(bob.limits->from_upstream.MayTake(kNow), 500);
  EXPECT_EQ(bob.limits->from_client.MayTake(kNow), 1000);
  bob.limits->from_upstream.Took(500);
  EXPECT_EQ(eve.limits->from_client.MayTake(kNow), 500);
  const auto refused = set->Admit(From("192.0.2.1", "bob"), kNow);
  EXPECT_STREQ(refused.result.name, "traffic_limit");
  EXPECT_TRUE(set->Admit(From("192.0.2.1", "eve"), kNow).ok()) << "one over quota stops nobody else";
  eve.limits->from_client.Took(500);
  EXPECT_FALSE(set->Admit(From("192.0.2.1", "eve"), kNow).ok());
}

TEST_F(LimitsTest, ReloadKeepsWhatWasCountedAndChangesWhatMayCome) {
  LimitRule counter = Line(LimitKind::kCountAll, 1000);
  LimitRule rate = Line(LimitKind::kBandwidthIn, 8000);
  LimitRule places = Line(LimitKind::kConnections, 1);
  auto set = Make({counter, rate, places});
  auto old = set->Admit(From("192.0.2.1"), kNow);
  old.limits->from_client.Took(900);
  counter.amount = 950;
  rate.amount = 0;
  places.amount = 2;
  set = Make({places, counter, rate});
  EXPECT_EQ(old.limits->from_client.MayTake(kNow), 50) << "an old session follows";
  auto fresh = set->Admit(From("192.0.2.1"), kNow);
  ASSERT_TRUE(fresh.ok());
  EXPECT_EQ(fresh.limits->from_client.MayTake(kNow), 50);
  EXPECT_FALSE(set->Admit(From("192.0.2.1"), kNow).ok()) << "the old session's place counts on";
}

TEST_F(LimitsTest, LineThatIsGoneLimitsNobodyAnyMore) {
  auto set = Make({Line(LimitKind::kCountAll, 1000), Line(LimitKind::kBandwidthIn, 300)});
  auto old = set->Admit(From("192.0.2.1"), kNow);
  old.limits->from_client.Took(1000);
  EXPECT_EQ(old.limits->from_client.MayTake(kNow), relay::FlowLimits::kSpent);
  Make({});
  EXPECT_EQ(old.limits->from_client.MayTake(kNow), relay::FlowLimits::kNoLimit);
  EXPECT_EQ(old.limits->from_upstream.MayTake(kNow), relay::FlowLimits::kNoLimit);
}

TEST_F(LimitsTest, NumberedCounterGoesOnWhateverItsWords) {
  LimitRule counter = Line(LimitKind::kCountAll, 1000);
  counter.number = 4;
  auto old = Make({counter})->Admit(From("192.0.2.1"), kNow);
  old.limits->from_client.Took(1000);
  counter.identity = "other words";
  counter.kind = LimitKind::kCountIn;
  EXPECT_FALSE(Make({counter})->Admit(From("192.0.2.1"), kNow).ok());
}

TEST_F(LimitsTest, RulesOfOneKindDoNotExemptFromAnother) {
  const auto set = Make({Exempt(LimitKind::kCountIn), Line(LimitKind::kCountIn, 0), Line(LimitKind::kCountOut, 0)});
  EXPECT_EQ(set->Admit(From("192.0.2.1"), kNow).refused_by->kind, LimitKind::kCountOut);
}

}  // namespace
}  // namespace sluice::access
