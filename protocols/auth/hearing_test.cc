#include "protocols/auth/hearing.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protocols/access/rule.h"
#include "protocols/access/rule_set.h"
#include "protocols/auth/auth_cache.h"
#include "protocols/auth/password.h"
#include "protocols/auth/review.h"
#include "protocols/auth/user_table.h"
#include "relay/session_observer.h"
#include "sys/thread/clock.h"

namespace sluice::auth {
namespace {

using access::Operation;
using access::Rule;
using sys::SocketAddress;
using Outcome = Judgement::Outcome;

constexpr char kCrypt[] = "$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/";  // of "password"

SocketAddress Ip(const std::string& text, uint16_t port = 0) { return SocketAddress::ParseIp(text, port).value(); }

Rule Allow() {
  Rule rule;
  rule.action = Rule::Action::kAllow;
  return rule;
}
Rule AllowUser(const std::string& user) {
  Rule rule = Allow();
  rule.conditions.users = {user};
  return rule;
}
Rule Deny() {
  Rule rule;
  rule.action = Rule::Action::kDeny;
  return rule;
}
Rule DenyTarget(const std::string& first, const std::string& last) {
  Rule rule = Deny();
  rule.conditions.target_ranges = {{Ip(first), Ip(last)}};
  return rule;
}
Rule AllowSource(const std::string& address) {
  Rule rule = Allow();
  rule.conditions.sources = {{Ip(address), Ip(address)}};
  return rule;
}

std::shared_ptr<UserTable> Users() {
  auto users = std::make_shared<UserTable>();
  users->Add("alice", Password::FromClearText("one").value());
  users->Add("bob", Password::FromClearText("two").value());
  users->Add("carol", Password::FromCrypt(kCrypt).value());
  users->Add("nina", Password::FromNt("8846f7eaee8fb117ad06bdd830b7586c").value());
  return users;
}

struct Setup {
  std::vector<Method> chain = {Method::kIpOnly};
  std::vector<Rule> rules = {};
  CacheOptions cache = {};
  bool force = true;
};

std::shared_ptr<const Gate> MakeGate(Setup setup, std::shared_ptr<const UserTable> users = Users()) {
  GateOptions options;
  for (size_t i = 0; i < setup.rules.size(); ++i) setup.rules[i].location = {"test.cfg", static_cast<int>(i) + 1};
  options.rules = access::RuleSet::Compile(std::move(setup.rules));
  options.auth.chain = std::move(setup.chain);
  options.auth.cache = setup.cache;
  options.users = std::move(users);
  options.force = setup.force;
  if (options.auth.caches()) options.cache = std::make_shared<AuthCache>(setup.cache);
  return std::make_shared<const Gate>(std::move(options));
}

access::RequestFacts Facts(const std::string& client = "10.0.0.1", const std::string& target = "192.0.2.1") {
  access::RequestFacts facts;
  facts.client = Ip(client, 4000);
  facts.target = Ip(target, 80);
  facts.port = 80;
  facts.operation = Operation::kHttpGet;
  return facts;
}

Judgement Judge(const std::shared_ptr<const Gate>& gate, Claim claim, const access::RequestFacts& facts = Facts()) {
  Hearing hearing(gate, std::move(claim), 0);
  return hearing.JudgeBlocking(facts, Stage::kFinal);
}

int CodeOf(const std::shared_ptr<const Gate>& gate, Claim claim, const access::RequestFacts& facts = Facts()) {
  const Judgement judgement = Judge(gate, std::move(claim), facts);
  EXPECT_EQ(judgement.allowed(), judgement.result.ok());
  return judgement.result.number;
}

// --- `auth`, row by row of the types.

TEST(AuthNoneTest, RulesAreNotAsked) {
  const auto gate = MakeGate({.chain = {Method::kNone}, .rules = {Deny()}});
  EXPECT_EQ(CodeOf(gate, {}), 0);
  EXPECT_EQ(Judge(gate, {}).verdict.rule, nullptr);
  EXPECT_TRUE(gate->open());
}

TEST(AuthIponlyTest, TheNameIsHiddenFromRules) {
  const auto gate = MakeGate({.chain = {Method::kIpOnly}, .rules = {AllowUser("alice"), Deny()}});
  EXPECT_EQ(CodeOf(gate, {"alice", "one"}), 1);
  const auto dash = MakeGate({.chain = {Method::kIpOnly}, .rules = {AllowUser("-"), Deny()}});
  EXPECT_EQ(CodeOf(dash, {"alice", "one"}), 0);
}

TEST(AuthIponlyTest, NoRulesLetEverybodyInNoMatchNobody) {
  EXPECT_EQ(CodeOf(MakeGate({}), {}), 0);
  EXPECT_TRUE(MakeGate({})->open());
  EXPECT_EQ(CodeOf(MakeGate({.rules = {AllowSource("10.0.0.9")}}), {}), 3);
}

TEST(AuthUseronlyTest, AnyPasswordButAName) {
  const auto gate = MakeGate({.chain = {Method::kUserOnly}, .rules = {AllowUser("alice"), Deny()}});
  EXPECT_EQ(CodeOf(gate, {"alice", "whatever"}), 0);
  EXPECT_EQ(CodeOf(gate, {"eve", ""}), 1);
  EXPECT_EQ(CodeOf(gate, {}), 4);
}

TEST(AuthStrongTest, CodesByWhatIsWrong) {
  const auto gate = MakeGate({.chain = {Method::kStrong}});
  EXPECT_EQ(CodeOf(gate, {"alice", "one"}), 0);
  EXPECT_EQ(CodeOf(gate, {"carol", "password"}), 0);
  EXPECT_EQ(CodeOf(gate, {"nina", "password"}), 0);
  EXPECT_EQ(CodeOf(gate, {}), 4);
  EXPECT_EQ(CodeOf(gate, {"eve", "one"}), 5);
  EXPECT_EQ(CodeOf(gate, {"Alice", "one"}), 5);
  EXPECT_EQ(CodeOf(gate, {"alice", "two"}), 6);
  EXPECT_EQ(CodeOf(gate, {"alice", ""}), 6);
  EXPECT_EQ(CodeOf(gate, {"carol", "x"}), 7);
  EXPECT_EQ(CodeOf(gate, {"nina", "x"}), 8);
  EXPECT_EQ(Judge(gate, {"alice", "one"}).identity.proof, Proof::kPassword);
}

TEST(AuthStrongTest, AnEmptyNameIsNobody) {
  for (const Method method : {Method::kStrong, Method::kUserOnly}) {
    EXPECT_EQ(CodeOf(MakeGate({.chain = {method}}), {"", "one"}), 4);
  }
}

// `auth iponly strong`: the denial of the first is not the end.
TEST(AuthChainTest, IponlyFallsThroughOthersDoNot) {
  const auto gate = MakeGate(
      {.chain = {Method::kIpOnly, Method::kStrong}, .rules = {AllowSource("10.0.0.1"), AllowUser("alice"), Deny()}});
  EXPECT_EQ(CodeOf(gate, {}, Facts("10.0.0.1")), 0);
  EXPECT_EQ(CodeOf(gate, {}, Facts("10.0.0.2")), 4);
  EXPECT_EQ(CodeOf(gate, {"alice", "one"}, Facts("10.0.0.2")), 0);
  EXPECT_EQ(CodeOf(gate, {"alice", "x"}, Facts("10.0.0.2")), 6);
  EXPECT_EQ(CodeOf(gate, {"bob", "two"}, Facts("10.0.0.2")), 1);
  // strong has found out who it is and the rules say no: useronly is not asked any more.
  const auto ends = MakeGate({.chain = {Method::kStrong, Method::kUserOnly}, .rules = {AllowUser("alice"), Deny()}});
  EXPECT_EQ(CodeOf(ends, {"bob", "two"}), 1);
  EXPECT_EQ(CodeOf(ends, {"alice", "wrong"}), 0);  // useronly lets it in, as it was told to
}

TEST(AuthChainTest, TheHighestCodeCounts) {
  const auto gate = MakeGate({.chain = {Method::kStrong, Method::kIpOnly}, .rules = {Deny()}});
  EXPECT_EQ(CodeOf(gate, {"alice", "x"}), 6);  // 6, then 1
  EXPECT_EQ(CodeOf(gate, {}), 4);
}

// --- What takes time is not for workers.

TEST(HearingTest, ADearHashNeedsAThreadAndIsMadeOnce) {
  const auto gate = MakeGate({.chain = {Method::kStrong}});
  Hearing hearing(gate, {"carol", "password"}, 0);
  EXPECT_FALSE(hearing.TryJudge(Facts(), Stage::kFinal).has_value());
  EXPECT_TRUE(hearing.JudgeBlocking(Facts(), Stage::kFinal).allowed());
  EXPECT_TRUE(hearing.TryJudge(Facts(), Stage::kFinal).value().allowed());
  // As long as a user has a dear one, an unknown name takes as long.
  Hearing unknown(gate, {"eve", "password"}, 0);
  EXPECT_FALSE(unknown.TryJudge(Facts(), Stage::kFinal).has_value());
  Hearing clear(gate, {"alice", "one"}, 0);
  EXPECT_TRUE(clear.TryJudge(Facts(), Stage::kFinal).value().allowed());
}

// --- Before and after the address is known.

TEST(HearingTest, EveryCandidateIsJudged) {
  const auto gate = MakeGate({.rules = {DenyTarget("127.0.0.9", "127.0.0.9"), Allow()}});
  Hearing hearing(gate, {}, 0);
  access::RequestFacts facts = Facts();
  facts.host = "www.example";
  facts.target = {};
  EXPECT_EQ(hearing.TryJudge(facts, Stage::kBeforeResolution).value().outcome, Outcome::kNeedsAddress);
  std::vector<SocketAddress> candidates = {Ip("127.0.0.9", 80), Ip("127.0.0.1", 80), Ip("::ffff:127.0.0.9", 80),
                                           Ip("::1", 80)};
  EXPECT_TRUE(hearing.TryJudgeCandidates(facts, candidates).value().allowed());
  EXPECT_EQ(candidates, (std::vector<SocketAddress>{Ip("127.0.0.1", 80), Ip("::1", 80)}));
  candidates = {Ip("127.0.0.9", 80)};
  const Judgement denied = hearing.TryJudgeCandidates(facts, candidates).value();
  EXPECT_EQ(denied.result.number, 1);
  EXPECT_EQ(denied.verdict.rule->location.line, 1);
  EXPECT_TRUE(candidates.empty());
}

// Candidates that different rules let in may have different parents: only those of the first are left.
TEST(HearingTest, CandidatesOfOneRuleStayTogether) {
  Rule inside = Allow();
  inside.conditions.target_ranges = {{Ip("10.0.0.0"), Ip("10.255.255.255")}};
  const auto gate = MakeGate({.rules = {inside, Allow()}});
  Hearing hearing(gate, {}, 0);
  access::RequestFacts facts = Facts();
  facts.host = "www.example";
  std::vector<SocketAddress> candidates = {Ip("192.0.2.1", 80), Ip("10.0.0.1", 80), Ip("192.0.2.2", 80)};
  EXPECT_EQ(hearing.TryJudgeCandidates(facts, candidates).value().verdict.rule->location.line, 2);
  EXPECT_EQ(candidates, (std::vector<SocketAddress>{Ip("192.0.2.1", 80), Ip("192.0.2.2", 80)}));
}

// Whoever is denied in any case causes no question to a name server.
TEST(HearingTest, WhoNeedsAPasswordIsToldBeforeTheNameIsLookedUp) {
  const auto gate = MakeGate({.chain = {Method::kStrong}, .rules = {DenyTarget("127.0.0.9", "127.0.0.9"), Allow()}});
  access::RequestFacts facts = Facts();
  facts.host = "www.example";
  facts.target = {};
  Hearing nobody(gate, {}, 0);
  EXPECT_EQ(nobody.TryJudge(facts, Stage::kBeforeResolution).value().result.number, 4);
  Hearing alice(gate, {"alice", "one"}, 0);
  EXPECT_EQ(alice.TryJudge(facts, Stage::kBeforeResolution).value().outcome, Outcome::kNeedsAddress);
}

// --- The cache.

CacheOptions CacheBy(std::initializer_list<CacheField> fields) {
  CacheOptions options;
  options.fields = 0;
  for (const CacheField field : fields) options.fields = With(options.fields, field);
  return options;
}

TEST(AuthCacheTest, ASecondRequestNeedsNoHash) {
  for (const Method cache : {Method::kCache, Method::kCacheAcl}) {
    const auto gate = MakeGate({.chain = {cache, Method::kStrong}});
    EXPECT_EQ(CodeOf(gate, {"carol", "password"}), 0);
    Hearing again(gate, {"carol", "password"}, 0);
    EXPECT_TRUE(again.TryJudge(Facts(), Stage::kFinal).value().allowed());
    EXPECT_EQ(again.TryJudge(Facts(), Stage::kFinal)->identity.user, "carol");
    // Another password is another key.
    EXPECT_EQ(CodeOf(gate, {"carol", "passwor"}), 7);
    EXPECT_EQ(CodeOf(gate, {"alice", "password"}), 6);
  }
}

// A hit is judged by the rules all the same: with the rule's parents, and for this target.
TEST(AuthCacheTest, TheRulesAreAskedOnAHit) {
  Rule limited = AllowUser("alice");
  limited.conditions.ports = {{80, 80}};
  const auto gate = MakeGate({.chain = {Method::kCacheAcl, Method::kStrong}, .rules = {limited, Deny()}});
  EXPECT_EQ(CodeOf(gate, {"alice", "one"}), 0);
  access::RequestFacts other = Facts();
  other.port = 81;
  EXPECT_EQ(CodeOf(gate, {"alice", "one"}, other), 1);
  EXPECT_EQ(Judge(gate, {"alice", "one"}).verdict.rule->location.line, 1);
}

TEST(AuthCacheTest, WhatIsDeniedIsNotKept) {
  const auto gate = MakeGate({.chain = {Method::kCache, Method::kStrong}, .rules = {Deny()}});
  EXPECT_EQ(CodeOf(gate, {"carol", "password"}), 1);
  Hearing again(gate, {"carol", "password"}, 0);
  EXPECT_FALSE(again.TryJudge(Facts(), Stage::kFinal).has_value());
}

// Names admitted without a check must not open the way where passwords are asked for.
TEST(AuthCacheTest, OnlyVerifiedNamesAreKeptWherePasswordsAreAsked) {
  const auto gate = MakeGate({.chain = {Method::kCache, Method::kStrong, Method::kUserOnly},
                              .cache = CacheBy({CacheField::kUser, CacheField::kAddress})});
  EXPECT_EQ(Judge(gate, {"alice", "wrong"}).identity.proof, Proof::kName);
  EXPECT_EQ(gate->options().cache->size(), 0u);
  EXPECT_EQ(Judge(gate, {"alice", "one"}).identity.proof, Proof::kPassword);
  EXPECT_EQ(gate->options().cache->size(), 1u);
}

TEST(AuthCacheTest, AnAddressWithoutAPasswordIsTakenForItsUser) {
  const auto gate = MakeGate({.chain = {Method::kCache, Method::kStrong}, .cache = CacheBy({CacheField::kAddress})});
  EXPECT_EQ(CodeOf(gate, {}), 4);
  EXPECT_EQ(CodeOf(gate, {"alice", "one"}), 0);
  EXPECT_EQ(Judge(gate, {}).identity.user, "alice");
  EXPECT_EQ(CodeOf(gate, {}, Facts("10.0.0.2")), 4);
}

TEST(AuthCacheTest, LimitHoldsAUserToOneAddress) {
  const auto gate = MakeGate(
      {.chain = {Method::kCache, Method::kStrong, Method::kUserOnly},
       .cache = CacheBy({CacheField::kAddress, CacheField::kUser, CacheField::kPassword, CacheField::kLimit})});
  EXPECT_EQ(CodeOf(gate, {"alice", "one"}, Facts("10.0.0.1")), 0);
  EXPECT_EQ(CodeOf(gate, {"alice", "one"}, Facts("10.0.0.1")), 0);
  // 10 ends the chain: useronly is not asked.
  EXPECT_EQ(CodeOf(gate, {"alice", "one"}, Facts("10.0.0.2")), 10);
  EXPECT_EQ(CodeOf(gate, {"bob", "two"}, Facts("10.0.0.2")), 0);
}

TEST(AuthCacheTest, EntriesEndWithTheirTime) {
  CacheOptions options;
  options.lifetime_nanos = 10;
  AuthCache cache(options);
  const auto key = cache.KeyOf({"alice", "one"}, Facts(), false, nullptr, {}).value();
  Identity identity;
  identity.user = "alice";
  cache.Put(key, identity, 100);
  EXPECT_TRUE(cache.Find(key, 109).has_value());
  EXPECT_FALSE(cache.Find(key, 110).has_value());
  cache.NotePlace("alice", Ip("10.0.0.1"), 100);
  EXPECT_TRUE(cache.IsElsewhere("alice", Ip("10.0.0.2"), 109));
  EXPECT_FALSE(cache.IsElsewhere("alice", Ip("10.0.0.2"), 110));
}

TEST(AuthCacheTest, TheOldestMakeRoom) {
  CacheOptions options;
  options.most_entries = 64;
  AuthCache cache(options);
  Identity identity;
  AuthCache::Key last;
  for (int i = 0; i < 10'000; ++i) {
    last = cache.KeyOf({"user" + std::to_string(i), "x"}, Facts(), false, nullptr, {}).value();
    cache.Put(last, identity, i);
  }
  EXPECT_LE(cache.size(), 64u);
  EXPECT_TRUE(cache.Find(last, 10'000).has_value());
}

TEST(AuthCacheTest, KeysAreApartByWhatTheyAreMadeOf) {
  const AuthCache cache(CacheBy({CacheField::kUser, CacheField::kPassword}));
  const auto key = [&](const std::string& user, const std::string& password) {
    return cache.KeyOf({user, password}, Facts(), false, nullptr, {}).value();
  };
  EXPECT_EQ(key("a", "b"), key("a", "b"));
  EXPECT_FALSE(key("a", "b") == key("ab", ""));
  EXPECT_FALSE(key("a", "b") == key("a", "bb"));
  // Nobody is no key: all that give no name would be one.
  EXPECT_FALSE(cache.KeyOf({}, Facts(), false, nullptr, {}).has_value());
}

// --- Sessions at a reload.

relay::Review ReviewOf(const std::shared_ptr<const Gate>& before, const std::shared_ptr<const Gate>& now,
                       const std::string& user, Proof proof) {
  access::RequestFacts facts = Facts();
  facts.user = user;
  return ReviewSession(*before, *now, proof, facts, 0);
}

TEST(ReviewTest, WhoIsDeniedNowEndsOthersGoOn) {
  const auto before = MakeGate({.chain = {Method::kStrong}, .rules = {AllowUser("alice"), AllowUser("bob"), Deny()}});
  const auto now = MakeGate({.chain = {Method::kStrong}, .rules = {AllowUser("bob"), Deny()}});
  EXPECT_EQ(ReviewOf(before, now, "alice", Proof::kPassword), relay::Review::kRevoked);
  EXPECT_EQ(ReviewOf(before, now, "bob", Proof::kPassword), relay::Review::kKept);
  EXPECT_EQ(ReviewOf(before, before, "alice", Proof::kPassword), relay::Review::kKept);
}

TEST(ReviewTest, NoforceLeavesThemAlone) {
  const auto before = MakeGate({});
  const auto now = MakeGate({.rules = {Deny()}, .force = false});
  EXPECT_EQ(ReviewOf(before, now, "", Proof::kNone), relay::Review::kKept);
}

TEST(ReviewTest, AnotherRuleIsAChange) {
  const auto before = MakeGate({.rules = {AllowSource("10.0.0.1")}});
  EXPECT_EQ(ReviewOf(before, MakeGate({.rules = {Allow()}}), "", Proof::kNone), relay::Review::kChanged);
  // The same rule at another place is the same rule.
  EXPECT_EQ(ReviewOf(before, MakeGate({.rules = {AllowSource("10.0.0.9"), AllowSource("10.0.0.1")}}), "", Proof::kNone),
            relay::Review::kKept);
}

TEST(ReviewTest, APasswordCountsAsLongAsItIsTheUsers) {
  const auto before = MakeGate({.chain = {Method::kStrong}});
  EXPECT_EQ(ReviewOf(before, MakeGate({.chain = {Method::kStrong}}), "alice", Proof::kPassword), relay::Review::kKept);
  auto changed = std::make_shared<UserTable>();
  changed->Add("alice", Password::FromClearText("three").value());
  const auto now = MakeGate({.chain = {Method::kStrong}}, changed);
  EXPECT_EQ(ReviewOf(before, now, "alice", Proof::kPassword), relay::Review::kRevoked);
  EXPECT_EQ(ReviewOf(before, now, "bob", Proof::kPassword), relay::Review::kRevoked);  // is gone
  // A name that was only said is not good enough once passwords are asked for.
  const auto open = MakeGate({.chain = {Method::kUserOnly}});
  EXPECT_EQ(ReviewOf(open, MakeGate({.chain = {Method::kStrong}}), "alice", Proof::kName), relay::Review::kRevoked);
}

// A UDP client whose targets are still to come.
TEST(ReviewTest, WhoMayStillSendSomewhereGoesOn) {
  const auto before = MakeGate({});
  access::RequestFacts facts;
  facts.client = Ip("10.0.0.1");
  facts.operation = Operation::kUdpAssociate;
  const auto some = MakeGate({.rules = {DenyTarget("127.0.0.0", "127.255.255.255"), Allow()}});
  EXPECT_NE(ReviewSession(*before, *some, Proof::kNone, facts, 0), relay::Review::kRevoked);
  EXPECT_EQ(ReviewSession(*before, *MakeGate({.rules = {Deny()}}), Proof::kNone, facts, 0), relay::Review::kRevoked);
}

TEST(CurrentGateTest, AReloadPutsAnotherOneIn) {
  const auto first = MakeGate({});
  const auto second = MakeGate({});
  CurrentGate current(first);
  EXPECT_TRUE(current.Is(*first));
  current.Set(second);
  EXPECT_FALSE(current.Is(*first));
  EXPECT_EQ(current.Get(), second);
}

}  // namespace
}  // namespace sluice::auth
