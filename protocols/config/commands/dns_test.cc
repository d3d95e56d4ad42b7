#include "protocols/config/commands/dns.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protocols/config/testing/build_text.h"
#include "protocols/service/snapshot.h"
#include "sys/thread/clock.h"

namespace sluice::config {
namespace {

using service::DnsOptions;
using ::testing::HasSubstr;

DnsOptions With(const std::string& settings) { return SnapshotOf(settings + "\n" + kSomeService)->dns; }

TEST(DnsTest, Defaults) {
  const DnsOptions dns = With("");
  EXPECT_TRUE(dns.servers.empty());
  EXPECT_TRUE(dns.records.empty());
  EXPECT_EQ(dns.cache_ipv4_entries, 0);
  EXPECT_EQ(dns.timeout_nanos, 15 * sys::kNanosPerSecond);
}

TEST(DnsTest, Servers) {
  const DnsOptions dns =
      With("nserver 192.0.2.1\nnserver 192.0.2.2:54/tcp\nnserver 2001:db8::1\nnserver [2001:db8::2]:54/tcp");
  ASSERT_EQ(dns.servers.size(), 4u);
  EXPECT_EQ(dns.servers[0].address.ToString(), "192.0.2.1:53");
  EXPECT_FALSE(dns.servers[0].tcp);
  EXPECT_EQ(dns.servers[1].address.ToString(), "192.0.2.2:54");
  EXPECT_TRUE(dns.servers[1].tcp);
  EXPECT_EQ(dns.servers[2].address.ToString(), "[2001:db8::1]:53");
  EXPECT_EQ(dns.servers[3].address.ToString(), "[2001:db8::2]:54");
  EXPECT_TRUE(dns.servers[3].tcp);
}

TEST(DnsTest, Cache) {
  EXPECT_EQ(With("nscache 65536").cache_ipv4_entries, 65536);
  EXPECT_EQ(With("nscache6 256").cache_ipv6_entries, 256);
  EXPECT_THAT(Said("nscache 255\n"), HasSubstr("'255' is no number from 256"));
}

TEST(DnsTest, Records) {
  const DnsOptions dns = With("nsrecord a.example 192.0.2.1\nnsrecord b.example ::\nnsrecord c.example 0.0.0.0");
  ASSERT_EQ(dns.records.size(), 3u);
  EXPECT_EQ(dns.records[0].name, "a.example");
  EXPECT_EQ(dns.records[0].address->IpText(), "192.0.2.1");
  EXPECT_FALSE(dns.records[1].address.has_value());
  EXPECT_FALSE(dns.records[2].address.has_value());
}

TEST(DnsTest, TimeIsThatOfTheLastTimeouts) {
  EXPECT_EQ(With("timeouts 1 5 30 60 180 1800 3").timeout_nanos, 3 * sys::kNanosPerSecond);
}

}  // namespace
}  // namespace sluice::config
