#include "protocols/dns/hosts_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "protocols/dns/address_order.h"

namespace sluice::dns {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Texts(const std::vector<sys::SocketAddress>& addresses) {
  std::vector<std::string> texts;
  for (const sys::SocketAddress& address : addresses) texts.push_back(address.IpText());
  return texts;
}

TEST(HostsFileTest, ReadsNamesAliasesAndComments) {
  size_t ignored = 99;
  const HostsTable table = ParseHosts(
      "# the usual\n"
      "127.0.0.1\tlocalhost\n"
      "::1 localhost ip6-localhost # both\n"
      "\n"
      "  192.0.2.7   Web.Example.  www.example #old.example\r\n"
      "192.0.2.8 web.example",
      &ignored);
  EXPECT_EQ(ignored, 0u);
  EXPECT_EQ(table.size(), 4u);
  ASSERT_NE(table.Find("localhost"), nullptr);
  EXPECT_THAT(Texts(table.Find("localhost")->ipv4), ElementsAre("127.0.0.1"));
  EXPECT_THAT(Texts(table.Find("localhost")->ipv6), ElementsAre("::1"));
  ASSERT_NE(table.Find("web.example"), nullptr);
  EXPECT_THAT(Texts(table.Find("web.example")->ipv4), ElementsAre("192.0.2.7", "192.0.2.8"));
  EXPECT_NE(table.Find("www.example"), nullptr);
  EXPECT_EQ(table.Find("old.example"), nullptr);
  EXPECT_EQ(table.Find("Web.Example"), nullptr);  // asked in lower case only
}

TEST(HostsFileTest, SkipsWhatItDoesNotUnderstand) {
  size_t ignored = 0;
  const HostsTable table = ParseHosts(
      "127.1 short\n"
      "nonsense\n"
      "192.0.2.1 good bad/name also-good\n"
      "192.0.2.2\n"
      "192.0.2.3 127.0.0.1\n",
      &ignored);
  EXPECT_EQ(ignored, 4u);
  EXPECT_EQ(table.Find("short"), nullptr);
  EXPECT_NE(table.Find("good"), nullptr);
  EXPECT_NE(table.Find("also-good"), nullptr);
  // A literal cannot be given another address.
  EXPECT_EQ(table.Find("127.0.0.1"), nullptr);
}

TEST(HostsFileTest, TheUnspecifiedAddressBlocksAName) {
  const HostsTable table = ParseHosts("0.0.0.0 ads.example\n:: ads.example\n0.0.0.0 both\n192.0.2.1 both\n");
  ASSERT_NE(table.Find("ads.example"), nullptr);
  EXPECT_TRUE(table.Find("ads.example")->never_resolves);
  EXPECT_TRUE(table.Find("ads.example")->empty());
  ASSERT_NE(table.Find("both"), nullptr);
  EXPECT_FALSE(table.Find("both")->never_resolves);
  EXPECT_THAT(Texts(table.Find("both")->ipv4), ElementsAre("192.0.2.1"));
}

TEST(HostsFileTest, BoundsTheAddressesOfAName) {
  std::string text;
  for (int i = 0; i < 250; ++i) absl::StrAppend(&text, "192.0.2.", i, " many\n");
  const HostsTable table = ParseHosts(text);
  ASSERT_NE(table.Find("many"), nullptr);
  EXPECT_EQ(table.Find("many")->ipv4.size(), kMaxAddresses);
}

TEST(HostsFileTest, AnEmptyFileHasNoNames) {
  EXPECT_EQ(ParseHosts("").size(), 0u);
  EXPECT_EQ(ParseHosts("\n\n#\n").size(), 0u);
}

}  // namespace
}  // namespace sluice::dns
