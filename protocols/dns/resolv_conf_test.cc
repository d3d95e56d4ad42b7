#include "protocols/dns/resolv_conf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace sluice::dns {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(ResolvConfTest, ReadsAPodsFile) {
  size_t ignored = 99;
  const ResolvConf conf = ParseResolvConf(
      "search default.svc.cluster.local svc.cluster.local cluster.local\n"
      "nameserver 10.96.0.10\n"
      "options ndots:5\n",
      &ignored);
  EXPECT_EQ(ignored, 0u);
  ASSERT_THAT(conf.name_servers, SizeIs(1));
  EXPECT_EQ(conf.name_servers[0].ToString(), "10.96.0.10:53");
  EXPECT_THAT(conf.search.domains, ElementsAre("default.svc.cluster.local", "svc.cluster.local", "cluster.local"));
  EXPECT_EQ(conf.search.ndots, 5);
  EXPECT_EQ(conf.timeout_seconds, 5);
  EXPECT_EQ(conf.attempts, 2);
}

TEST(ResolvConfTest, ReadsOptionsAndClampsThem) {
  const ResolvConf conf = ParseResolvConf("options ndots:99 timeout:0 attempts:1000 rotate use-vc edns0 trust-ad\n");
  EXPECT_EQ(conf.search.ndots, 15);
  EXPECT_EQ(conf.timeout_seconds, 1);
  EXPECT_EQ(conf.attempts, 5);
  EXPECT_TRUE(conf.rotate);
  EXPECT_TRUE(conf.use_tcp);
  // Not a number: the default stays.
  EXPECT_EQ(ParseResolvConf("options timeout:x ndots: attempts\n").timeout_seconds, 5);
}

TEST(ResolvConfTest, TheLastOfSearchAndDomainCounts) {
  EXPECT_THAT(ParseResolvConf("search a b\ndomain c d\n").search.domains, ElementsAre("c"));
  EXPECT_THAT(ParseResolvConf("domain c\nsearch A. b\n").search.domains, ElementsAre("a", "b"));
  EXPECT_THAT(ParseResolvConf("search .\n").search.domains, IsEmpty());
}

TEST(ResolvConfTest, CommentsBlanksAndBadLines) {
  size_t ignored = 0;
  const ResolvConf conf = ParseResolvConf(
      "# nameserver 192.0.2.1\n"
      "; nameserver 192.0.2.2\n"
      "\tnameserver\t2001:db8::53 # here\r\n"
      "nameserver dns.example\n"
      "nameserver\n"
      "nameserver 127.1\n"
      "sortlist 10.0.0.0\n"
      "search good b@d 192.0.2.1 fe80::1%lo\n",
      &ignored);
  EXPECT_EQ(ignored, 4u);
  ASSERT_THAT(conf.name_servers, SizeIs(1));
  EXPECT_EQ(conf.name_servers[0].ToString(), "[2001:db8::53]:53");
  EXPECT_THAT(conf.search.domains, ElementsAre("good"));
}

TEST(ResolvConfTest, ListsAreBounded) {
  std::string text = "search";
  for (int i = 0; i < 100; ++i) absl::StrAppend(&text, " d", i);
  for (int i = 1; i < 100; ++i) absl::StrAppend(&text, "\nnameserver 192.0.2.", i);
  const ResolvConf conf = ParseResolvConf(text);
  EXPECT_THAT(conf.search.domains, SizeIs(kMaxSearchDomains));
  EXPECT_THAT(conf.name_servers, SizeIs(kMaxNameServers));
}

TEST(SearchCandidatesTest, DotsDecideWhatComesFirst) {
  const SearchRules rules{{"a.test", "b.test"}, 2};
  EXPECT_THAT(SearchCandidates("x", false, rules), ElementsAre("x.a.test", "x.b.test", "x"));
  EXPECT_THAT(SearchCandidates("x.y", false, rules), ElementsAre("x.y.a.test", "x.y.b.test", "x.y"));
  EXPECT_THAT(SearchCandidates("x.y.z", false, rules), ElementsAre("x.y.z", "x.y.z.a.test", "x.y.z.b.test"));
  EXPECT_THAT(SearchCandidates("x", true, rules), ElementsAre("x"));
  EXPECT_THAT(SearchCandidates("x", false, SearchRules()), ElementsAre("x"));
}

TEST(SearchCandidatesTest, LeavesOutWhatWouldBeTooLong) {
  const std::string name(60, 'n');
  const std::string domain = std::string(63, 'd') + "." + std::string(63, 'd') + "." + std::string(63, 'd');
  EXPECT_THAT(SearchCandidates(name, false, {{domain, "short"}, 1}),
              ElementsAre(name + "." + domain, name + ".short", name));
  EXPECT_THAT(SearchCandidates(name + "xx", false, {{domain, "short"}, 1}),
              ElementsAre(name + "xx.short", name + "xx"));
}

}  // namespace
}  // namespace sluice::dns
