#include "protocols/upstream/parent_chain.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "protocols/upstream/credential_template.h"
#include "protocols/upstream/parent_health.h"
#include "protocols/upstream/parent_list.h"

namespace sluice::upstream {
namespace {

constexpr int64_t kSecond = sys::kNanosPerSecond;

Parent Make(int weight, ParentType type, absl::string_view ip = "192.0.2.1", uint16_t port = 1080) {
  Parent parent;
  parent.weight = weight;
  parent.type = type;
  parent.word = "type";
  if (!ip.empty()) parent.address = *sys::SocketAddress::ParseIp(ip, port);
  parent.port = port;
  if (type == ParentType::kProxyHeader) parent.proxy_header_version = 1;
  return parent;
}

ParentList ListOf(std::vector<Parent> parents) {
  ParentList list;
  for (Parent& parent : parents) EXPECT_TRUE(list.Append(std::move(parent)).ok());
  EXPECT_TRUE(list.CheckWhole().ok());
  return list;
}

// Gives the numbers in turn, each of them below its bound or cut to it.
class Script {
 public:
  explicit Script(std::vector<uint32_t> numbers) : numbers_(std::move(numbers)) {}
  uint32_t operator()(uint32_t bound) {
    bounds.push_back(bound);
    const uint32_t number = next_ < numbers_.size() ? numbers_[next_++] : 0;
    return number % bound;
  }
  std::vector<uint32_t> bounds;

 private:
  std::vector<uint32_t> numbers_;
  size_t next_ = 0;
};

std::vector<const Parent*> Draw(const ParentList& list, Script& script, const std::vector<const Parent*>& avoid = {},
                                const std::map<const Parent*, int64_t>& paused = {}, uint64_t sticky = 0) {
  const auto paused_until = [&](const Parent& parent) {
    const auto found = paused.find(&parent);
    return found == paused.end() ? 0 : found->second;
  };
  return DrawChain(list, {paused_until, avoid, sticky}, std::ref(script));
}

TEST(ParentList, WeightsMakeGroups) {
  const ParentList list = ListOf({Make(300, ParentType::kSocks5), Make(700, ParentType::kConnect),
                                  Make(1000, ParentType::kSocks4), Make(0, ParentType::kSocks5)});
  ASSERT_EQ(list.groups.size(), 2u);
  EXPECT_EQ(list.groups[0].end, 2u);
  EXPECT_EQ(list.groups[1].end, 4u) << "a fallback of the last group";
}

TEST(ParentList, GroupThatDoesNotSumTo1000IsAnError) {
  ParentList list;
  ASSERT_TRUE(list.Append(Make(500, ParentType::kSocks5)).ok());
  EXPECT_TRUE(absl::StrContains(list.CheckWhole().message(), "500"));
  EXPECT_FALSE(list.Append(Make(501, ParentType::kSocks5)).ok()) << "too much";
  ASSERT_TRUE(list.Append(Make(500, ParentType::kSocks5)).ok());
  EXPECT_TRUE(list.CheckWhole().ok());
  EXPECT_FALSE(ParentList().Append(Make(0, ParentType::kSocks5)).ok()) << "stands in for nobody";
}

TEST(ParentList, WhatCannotFollowIsAnError) {
  for (const ParentType last : {ParentType::kTcp, ParentType::kHttp, ParentType::kLocal, ParentType::kRedirect}) {
    ParentList list;
    ASSERT_TRUE(list.Append(Make(1000, last)).ok());
    EXPECT_FALSE(list.Append(Make(1000, ParentType::kSocks5)).ok());
    EXPECT_TRUE(list.Append(Make(0, ParentType::kSocks5)).ok()) << "in its place is another matter";
  }
  ParentList source_behind;
  ASSERT_TRUE(source_behind.Append(Make(1000, ParentType::kSocks5)).ok());
  EXPECT_FALSE(source_behind.Append(Make(1000, ParentType::kSourceAddress)).ok());
  ParentList hops;
  for (int i = 0; i < ParentList::kMostHops; ++i) ASSERT_TRUE(hops.Append(Make(1000, ParentType::kSocks5)).ok()) << i;
  EXPECT_FALSE(hops.Append(Make(1000, ParentType::kSocks5)).ok()) << "an eleventh hop";
  EXPECT_TRUE(hops.Append(Make(1000, ParentType::kProxyHeader, "", 0)).ok());
}

TEST(DrawChain, OneOfEachGroupByItsWeight) {
  const ParentList list =
      ListOf({Make(300, ParentType::kSocks5), Make(700, ParentType::kConnect), Make(1000, ParentType::kSocks4)});
  for (const auto& [number, index] : std::map<uint32_t, size_t>{{0, 0}, {299, 0}, {300, 1}, {999, 1}}) {
    Script script({number, 999});
    const auto chain = Draw(list, script);
    ASSERT_EQ(chain.size(), 2u);
    EXPECT_EQ(chain[0], &list.parents[index]) << number;
    EXPECT_EQ(chain[1], &list.parents[2]);
    EXPECT_EQ(script.bounds, (std::vector<uint32_t>{1000, 1000}));
  }
}

TEST(DrawChain, WhatFailsIsPassedOverAndItsShareGoesToTheOthers) {
  const ParentList list =
      ListOf({Make(300, ParentType::kSocks5), Make(200, ParentType::kConnect), Make(500, ParentType::kSocks4)});
  Script script({200});
  EXPECT_EQ(Draw(list, script, {}, {{&list.parents[0], 5}})[0], &list.parents[2]);
  EXPECT_EQ(script.bounds, std::vector<uint32_t>{700});
  Script again({0});
  EXPECT_EQ(Draw(list, again, {&list.parents[1]}, {{&list.parents[0], 5}})[0], &list.parents[2]);
}

TEST(DrawChain, FallbackStandsInOnlyWhenAllWithAWeightHaveFailed) {
  const ParentList list = ListOf({Make(500, ParentType::kSocks5), Make(500, ParentType::kSocks5),
                                  Make(0, ParentType::kConnect), Make(0, ParentType::kSocks4)});
  const Parent *a = &list.parents[0], *b = &list.parents[1], *c = &list.parents[2], *d = &list.parents[3];
  Script script({0, 0, 1, 0, 0, 0, 0});
  EXPECT_EQ(Draw(list, script)[0], a);
  EXPECT_EQ(Draw(list, script, {a})[0], b);
  EXPECT_EQ(Draw(list, script, {a, b})[0], d);
  EXPECT_EQ(Draw(list, script, {a, b, d})[0], c);
  EXPECT_EQ(Draw(list, script, {}, {{a, 7}, {b, 5}, {c, 6}, {d, 9}})[0], b) << "left alone for the longest";
  EXPECT_EQ(Draw(list, script, {a, b, c, d})[0], a) << "all have failed: once more";
}

TEST(DrawChain, StickyClientsKeepTheirParentAndOnlyItsOwnMoveWhenItFails) {
  ParentList list;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(list.Append(Make(250, ParentType::kSocks5, absl::StrCat("192.0.2.", i + 1))).ok());
  }
  Script script({});
  std::map<const Parent*, int> counts;
  for (uint64_t client = 1; client <= 4000; ++client) {
    const Parent* first = Draw(list, script, {}, {}, client)[0];
    ++counts[first];
    EXPECT_EQ(Draw(list, script, {}, {}, client)[0], first);
    const Parent* failing = &list.parents[0];
    const Parent* then = Draw(list, script, {}, {{failing, 1}}, client)[0];
    if (first == failing) {
      EXPECT_NE(then, failing);
    } else {
      EXPECT_EQ(then, first);
    }
  }
  for (const Parent& parent : list.parents) EXPECT_NEAR(counts[&parent], 1000, 150);
  EXPECT_TRUE(script.bounds.empty()) << "nothing is drawn";
}

TEST(RouteOf, ChainIsSortedOut) {
  const Parent source = Make(1000, ParentType::kSourceAddress), header = Make(1000, ParentType::kProxyHeader, "", 0);
  const Parent hop = Make(1000, ParentType::kSocks5), tcp = Make(1000, ParentType::kTcp);
  const Parent http = Make(1000, ParentType::kHttp), redirect = Make(1000, ParentType::kRedirect);

  Route route = RouteOf({&source}, Speaks::kOther);
  EXPECT_EQ(route.source, &source);
  EXPECT_TRUE(route.is_direct());

  route = RouteOf({&header}, Speaks::kOther);
  EXPECT_FALSE(route.is_direct());
  EXPECT_EQ(route.headers, std::vector<uint8_t>{1}) << "for the destination";

  route = RouteOf({&source, &header, &hop, &tcp}, Speaks::kOther);
  EXPECT_EQ(route.hops, std::vector<const Parent*>{&hop});
  EXPECT_EQ(route.headers, (std::vector<uint8_t>{1, 0})) << "for the parent";
  EXPECT_EQ(route.end, &tcp);

  EXPECT_EQ(RouteOf({&hop, &header}, Speaks::kOther).headers, (std::vector<uint8_t>{0, 1}));

  route = RouteOf({&hop, &http}, Speaks::kHttpRequest);
  EXPECT_EQ(route.end, &http);
  EXPECT_TRUE(route.whole_requests);
  route = RouteOf({&hop, &http}, Speaks::kHttpConnect);
  EXPECT_EQ(route.hops, (std::vector<const Parent*>{&hop, &http})) << "asked by CONNECT";
  EXPECT_EQ(route.end, nullptr);

  EXPECT_TRUE(RouteOf({&redirect}, Speaks::kHttpRequest).whole_requests);
  EXPECT_EQ(RouteOf({&redirect}, Speaks::kHttpConnect).hops.size(), 1u);
  route = RouteOf({&redirect}, Speaks::kOther);
  EXPECT_EQ(route.end, &redirect) << "plain redirection";
  EXPECT_FALSE(route.whole_requests);
}

TEST(PlaceOf, WhatAParentLeavesOpenIsTheDestinations) {
  const Endpoint destination{"a.example", {}, 443};
  EXPECT_EQ(PlaceOf(Make(1000, ParentType::kTcp, "192.0.2.1", 80), destination).ToString(), "192.0.2.1:80");
  EXPECT_EQ(PlaceOf(Make(1000, ParentType::kTcp, "192.0.2.1", 0), destination).ToString(), "192.0.2.1:443");
  EXPECT_EQ(PlaceOf(Make(1000, ParentType::kTcp, "", 8443), destination).ToString(), "a.example:8443");
  Parent unix_parent = Make(1000, ParentType::kSocks5, "", 0);
  unix_parent.address = *sys::SocketAddress::ParseUnix("/run/x");
  EXPECT_EQ(PlaceOf(unix_parent, destination).address.ToString(), "unix:/run/x");
}

TEST(CredentialTemplate, DependsOnTheClient) {
  const auto client = *sys::SocketAddress::ParseIp("2001:db8::1", 1);
  const struct {
    const char* text;
    const char* result;
  } kRows[] = {
      {"plain", "plain"}, {"", ""}, {"x-{user}-y", "x-bob-y"}, {"{src}", "2001-db8--1"}, {"a{{b}}{user}", "a{b}}bob"},
  };
  for (const auto& row : kRows) {
    const auto parsed = CredentialTemplate::Parse(row.text);
    ASSERT_TRUE(parsed.ok()) << row.text;
    EXPECT_EQ(parsed->Expand("bob", client), row.result);
    EXPECT_EQ(parsed->is_constant(), !absl::StrContains(row.text, "{user}") && !absl::StrContains(row.text, "{src}"));
  }
  const auto hash = *CredentialTemplate::Parse("s-{hash:src}");
  const std::string one = hash.Expand("", client);
  EXPECT_EQ(one.size(), 18u);
  EXPECT_EQ(one, hash.Expand("eve", *sys::SocketAddress::ParseIp("2001:db8::1", 99)));
  EXPECT_NE(one, hash.Expand("", *sys::SocketAddress::ParseIp("2001:db8::2", 1)));
  for (const char* bad : {"{", "{use}", "x{user", "{hash}", "a{}b"}) {
    EXPECT_FALSE(CredentialTemplate::Parse(bad).ok()) << bad;
  }
}

TEST(ParentHealth, FailureIsPassedOverForAGrowingTime) {
  std::vector<std::string> said;
  ParentHealth health([&](const std::string& line) { said.push_back(line); });
  int64_t now = 1000 * kSecond;
  for (const int64_t pause : {1, 2, 4, 8, 16, 32, 60, 60}) {
    EXPECT_EQ(health.PausedUntil("p", now), 0);
    health.Failed("p", "connect_refused", now);
    health.Failed("p", "connect_refused", now);  // one that was under way
    EXPECT_EQ(health.PausedUntil("p", now), now + pause * kSecond);
    EXPECT_EQ(health.PausedUntil("q", now), 0);
    now += pause * kSecond;
  }
  EXPECT_EQ(said.size(), 8u);
  EXPECT_EQ(said[1], "parent p fails (connect_refused), it is passed over for 2 s");
  ASSERT_EQ(health.failing().size(), 1u);
  EXPECT_EQ(health.failing()[0].failures, 8);
  EXPECT_EQ(health.failures(), 16);
  health.Worked("p");
  EXPECT_EQ(said.back(), "parent p works again");
  health.Worked("p");
  EXPECT_EQ(said.size(), 9u);
  health.Failed("p", "connect_refused", now);
  EXPECT_EQ(health.PausedUntil("p", now), now + kSecond) << "as good as new";
}

TEST(ParentHealth, TableIsBounded) {
  ParentHealth health(nullptr);
  for (size_t i = 0; i < ParentHealth::kMostParents + 10; ++i) health.Failed(absl::StrCat(i), "x", 1);
  EXPECT_EQ(health.failing().size(), ParentHealth::kMostParents);
}

}  // namespace
}  // namespace sluice::upstream
