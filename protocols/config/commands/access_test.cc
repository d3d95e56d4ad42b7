#include "protocols/config/commands/access.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protocols/access/rule.h"
#include "protocols/access/rule_set.h"
#include "protocols/auth/auth_options.h"
#include "protocols/config/testing/build_text.h"
#include "sys/thread/clock.h"

namespace sluice::config {
namespace {

using auth::CacheField;
using auth::Method;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string SaidWithService(const std::string& lines) { return Said(absl::StrCat(lines, "\n", kSomeService)); }

std::vector<access::Rule> RulesOf(const std::string& text) {
  const service::ServiceOptions options = ServiceOf(text);
  return options.rules == nullptr ? std::vector<access::Rule>() : options.rules->rules();
}

TEST(AuthTest, TheChainIsInItsOrder) {
  EXPECT_THAT(ServiceOf(kSomeService).auth.chain, ElementsAre(Method::kIpOnly));
  EXPECT_THAT(ServiceOf(absl::StrCat("auth iponly strong\n", kSomeService)).auth.chain,
              ElementsAre(Method::kIpOnly, Method::kStrong));
  EXPECT_THAT(ServiceOf(absl::StrCat("auth cache useronly\nauth none\n", kSomeService)).auth.chain,
              ElementsAre(Method::kNone));
}

TEST(AuthTest, WhatIsNotEnforcedIsAnError) {
  EXPECT_THAT(SaidWithService("auth radius"), HasSubstr("test.cfg:1: error: auth: 'radius' is not built yet"));
  EXPECT_THAT(SaidWithService("auth nbname"), HasSubstr("is not supported, "));
  EXPECT_THAT(SaidWithService("auth pam"), HasSubstr("is not supported, "));
  EXPECT_THAT(SaidWithService("auth stong"), HasSubstr("did you mean strong?"));
  EXPECT_THAT(SaidWithService("auth strong cache"), HasSubstr("error: auth: cache keeps what a type behind it"));
  EXPECT_THAT(SaidWithService("auth none strong"), HasSubstr("warning: auth: none lets everybody in"));
  EXPECT_THAT(SaidWithService("auth dnsname"), HasSubstr("warning: auth: dnsname believes"));
  EXPECT_THAT(SaidWithService("auth strong strong"), HasSubstr("warning: auth: strong stands there twice"));
}

// A rule that is accepted and not looked at, or looked at in a way that nobody has asked for.
TEST(AuthTest, RulesThatTheChainDoesNotAskAreWarnedOf) {
  EXPECT_THAT(SaidWithService("auth none\nallow alice"), HasSubstr("warning: auth: none does not look at rules"));
  EXPECT_THAT(SaidWithService("allow *"), HasSubstr("test.cfg:1: warning: there are rules and no auth above them"));
  EXPECT_THAT(SaidWithService("auth iponly\nallow *"), IsEmpty());
  EXPECT_THAT(SaidWithService("auth none\nallow *\nflush"), IsEmpty());
}

TEST(RuleTest, EachServiceHasTheRulesAboveIt) {
  const auto snapshot =
      SnapshotOf(absl::StrCat("auth iponly\nallow * 10.0.0.1\n", kSomeService, "deny *\n", kSomeService,
                              "flush\nallow * 10.0.0.2\n", kSomeService, "flush\n", kSomeService));
  ASSERT_EQ(snapshot->services.size(), 4u);
  EXPECT_EQ(snapshot->services[0]->rules->rules().size(), 1u);
  EXPECT_EQ(snapshot->services[1]->rules->rules().size(), 2u);
  ASSERT_EQ(snapshot->services[2]->rules->rules().size(), 1u);
  EXPECT_EQ(snapshot->services[2]->rules->rules()[0].location.line, 7);
  EXPECT_TRUE(snapshot->services[3]->rules->empty());
}

TEST(RuleTest, NologAndWeightAreTheLastRules) {
  const std::vector<access::Rule> rules = RulesOf(
      absl::StrCat("auth iponly\nallow * 10.0.0.1\nnolog\ndeny *\nweight 7\nallow * * * * * * * 3\n", kSomeService));
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_FALSE(rules[0].log);
  EXPECT_EQ(rules[0].weight, 0);
  EXPECT_TRUE(rules[1].log);
  EXPECT_EQ(rules[1].weight, 7);
  EXPECT_EQ(rules[2].weight, 3);
  EXPECT_THAT(SaidWithService("nolog"), HasSubstr("error: nolog: belongs to the allow or deny above it"));
  EXPECT_THAT(SaidWithService("allow *\nflush\nweight 1"), HasSubstr("error: weight: belongs to the allow or deny"));
}

TEST(RuleTest, ABrokenRuleIsAnErrorAndNotAWiderRule) {
  for (const char* line :
       {"allow a,,b", "allow *,a", "deny * 10.0.0.256", "deny * * 10.0.0.0/33", "deny * * * 65536", "deny * * * 80-70",
        "allow * * * * GET", "allow * * * * * 8", "allow * * * * * * 9-17", "allow * * * * * * 22:00:00-06:00:00",
        "deny * host.example", "deny * * a*b", "deny * * 10.0.0", "allow * * * * * * * x"}) {
    EXPECT_EQ(BuildText(absl::StrCat(line, "\n", kSomeService)).snapshot, nullptr) << line;
    EXPECT_THAT(SaidWithService(line), HasSubstr("test.cfg:1: error: ")) << line;
  }
}

// Several mistakes in one line are said at once.
TEST(RuleTest, EveryMistakeIsSaid) {
  const std::string said = SaidWithService("deny * 1.2.3 * 0x50 FOO");
  EXPECT_THAT(said, HasSubstr("SOURCES: '1.2.3' is no address"));
  EXPECT_THAT(said, HasSubstr("PORTS: '0x50' is no port"));
  EXPECT_THAT(said, HasSubstr("OPERATIONS: 'FOO' is no operation"));
}

TEST(RuleTest, RulesBehindTheLastServiceAreWarnedOf) {
  EXPECT_THAT(Said(absl::StrCat("auth iponly\n", kSomeService, "deny *\n")), HasSubstr("deny: has no effect"));
}

TEST(AuthcacheTest, FieldsTimeAndSize) {
  const auth::CacheOptions cache =
      ServiceOf(absl::StrCat("authcache ip,user,password,dstport 60 1000\n", kSomeService)).auth.cache;
  EXPECT_TRUE(auth::Has(cache.fields, CacheField::kAddress));
  EXPECT_TRUE(auth::Has(cache.fields, CacheField::kPassword));
  EXPECT_TRUE(auth::Has(cache.fields, CacheField::kTargetPort));
  EXPECT_FALSE(auth::Has(cache.fields, CacheField::kTarget));
  EXPECT_EQ(cache.lifetime_nanos, 60 * sys::kNanosPerSecond);
  EXPECT_EQ(cache.most_entries, 1000);
  const auth::CacheOptions fallback = ServiceOf(kSomeService).auth.cache;
  EXPECT_TRUE(auth::Has(fallback.fields, CacheField::kUser) && auth::Has(fallback.fields, CacheField::kPassword));
  EXPECT_EQ(fallback.lifetime_nanos, 600 * sys::kNanosPerSecond);
  EXPECT_EQ(fallback.most_entries, 262144);
}

TEST(AuthcacheTest, MisspelledFieldsAreErrors) {
  EXPECT_THAT(SaidWithService("authcache usr"), HasSubstr("'usr' is no field"));
  EXPECT_THAT(SaidWithService("authcache usr"), HasSubstr("did you mean user?"));
  EXPECT_THAT(SaidWithService("authcache user,pass,"), HasSubstr("'' is no field"));
  EXPECT_THAT(SaidWithService("authcache user 0"), HasSubstr("is no number from 1"));
}

TEST(AuthcacheTest, AKeyThatLetsOthersInIsAnError) {
  EXPECT_THAT(SaidWithService("auth cache strong\nauthcache user 60"), HasSubstr("authcache: the key has no pass"));
  EXPECT_THAT(SaidWithService("auth cache strong\nauthcache ip,user 60"),
              HasSubstr("warning: authcache: the key has ip"));
  EXPECT_THAT(SaidWithService("auth cache strong\nauthcache ip,user,pass 60"), IsEmpty());
  EXPECT_THAT(SaidWithService("auth cache strong\nauthcache user,pass,limit 60"), HasSubstr("limit holds a user"));
  // Nobody caches, so it does not matter.
  EXPECT_THAT(SaidWithService("auth strong\nauthcache user 60"), IsEmpty());
}

TEST(AuthcacheTest, CacheaclNeedsWhatTheRulesRead) {
  const std::string chain = "auth cacheacl strong\n";
  const struct {
    const char* key;
    const char* rule;
    const char* field;  // "": it is wide enough
  } cases[] = {
      {"user,pass", "allow a", ""},
      {"ip,pass", "allow a", "user"},
      {"user,pass", "allow * 10.0.0.1", "ip"},
      {"user,pass", "allow * * 10.0.0.0/8", "dstaddr"},
      {"user,pass", "allow * * local", "dstaddr"},
      {"user,pass,dstaddr", "allow * * *.example", "dsthost"},
      {"user,pass,dsthost", "allow * * *.example,10.0.0.1", "dstaddr"},
      {"user,pass", "allow * * * 80", "dstport"},
      {"user,pass", "allow * * * * CONNECT", "dstoper"},
      {"user,pass,ip,dstaddr,dsthost,dstport,dstoper", "allow a 10.0.0.1 10.0.0.1,*.x 80 HTTP", ""},
  };
  for (const auto& c : cases) {
    const std::string said = SaidWithService(absl::StrCat(chain, "authcache ", c.key, " 60\n", c.rule));
    if (*c.field == '\0') {
      EXPECT_THAT(said, IsEmpty()) << c.rule;
    } else {
      EXPECT_THAT(said, HasSubstr(absl::StrCat("test.cfg:2: error: authcache: the key is too narrow for cacheacl, the "
                                               "rule at test.cfg:3 limits ")));
      EXPECT_THAT(said, HasSubstr(absl::StrCat(", add ", c.field, ", or use cache"))) << c.rule;
    }
  }
}

}  // namespace
}  // namespace sluice::config
