#include "protocols/config/commands/network.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protocols/config/testing/build_text.h"
#include "protocols/service/snapshot.h"
#include "sys/thread/clock.h"

namespace sluice::config {
namespace {

using service::ServiceOptions;
using ::testing::HasSubstr;

ServiceOptions With(const std::string& settings) { return ServiceOf(settings + "\n" + kSomeService); }

TEST(NetworkTest, Defaults) {
  const ServiceOptions options = With("");
  EXPECT_EQ(options.maxconn, 500);
  EXPECT_EQ(options.backlog, 0);
  EXPECT_EQ(options.timeouts.connection_long, 1800 * sys::kNanosPerSecond);
  EXPECT_FALSE(options.external_ipv4.has_value());
  EXPECT_FALSE(options.external_ipv6.has_value());
  EXPECT_TRUE(options.force_reauthorise);
}

TEST(NetworkTest, Numbers) {
  EXPECT_EQ(With("maxconn 20000").maxconn, 20000);
  EXPECT_EQ(With("backlog 4096").backlog, 4096);
  EXPECT_EQ(With("backlog 4096\nbacklog 0").backlog, 0);
  EXPECT_FALSE(With("noforce").force_reauthorise);
  EXPECT_TRUE(With("noforce\nforce").force_reauthorise);
}

TEST(NetworkTest, AnyPrefixOfTimeouts) {
  const ServiceOptions one = With("timeouts 2");
  EXPECT_EQ(one.timeouts.byte_short, 2 * sys::kNanosPerSecond);
  EXPECT_EQ(one.timeouts.byte_long, 5 * sys::kNanosPerSecond);
  const ServiceOptions all = With("timeouts 11 12 13 14 15 16 17 18 19 20 21");
  EXPECT_EQ(all.timeouts.byte_short, 11 * sys::kNanosPerSecond);
  EXPECT_EQ(all.timeouts.byte_long, 12 * sys::kNanosPerSecond);
  EXPECT_EQ(all.timeouts.string_short, 13 * sys::kNanosPerSecond);
  EXPECT_EQ(all.timeouts.string_long, 14 * sys::kNanosPerSecond);
  EXPECT_EQ(all.timeouts.connection_short, 15 * sys::kNanosPerSecond);
  EXPECT_EQ(all.timeouts.connection_long, 16 * sys::kNanosPerSecond);
  EXPECT_EQ(all.timeouts.dns, 17 * sys::kNanosPerSecond);
  EXPECT_EQ(all.timeouts.chain, 18 * sys::kNanosPerSecond);
  EXPECT_EQ(all.timeouts.connect, 19 * sys::kNanosPerSecond);
  EXPECT_EQ(all.timeouts.connect_back, 20 * sys::kNanosPerSecond);
  EXPECT_EQ(all.timeouts.linger, 21 * sys::kNanosPerSecond);
  // A shorter list leaves the rest as it was.
  EXPECT_EQ(With("timeouts 11 12\ntimeouts 1").timeouts.byte_long, 12 * sys::kNanosPerSecond);
}

TEST(NetworkTest, RelayGetsItsTimesFromTimeouts) {
  const ServiceOptions options = With("timeouts 1 2 3 4 55 66 7 8 99 10 111");
  EXPECT_EQ(options.relay.half_closed_idle_nanos, 55 * sys::kNanosPerSecond);
  EXPECT_EQ(options.relay.idle_nanos, 66 * sys::kNanosPerSecond);
  EXPECT_EQ(options.relay.connect_nanos, 99 * sys::kNanosPerSecond);
  EXPECT_EQ(options.relay.linger_nanos, 111 * sys::kNanosPerSecond);
  EXPECT_EQ(With("timeouts 1 2 3 4 55 66 7 8 99 10 0").relay.linger_nanos, 0);
}

TEST(NetworkTest, OneBadTimeLeavesAllAsTheyWere) {
  const BuildResult result = BuildText(std::string("timeouts 9 x\n") + kSomeService);
  EXPECT_THAT(result.diagnostics.ToString(),
              HasSubstr("timeouts: 'x' is no number from 1 to 2147483647, it is BYTE_LONG"));
}

TEST(NetworkTest, ExternalIsOneAddressAFamily) {
  const ServiceOptions both = With("external 192.0.2.1\nexternal 2001:db8::1\nexternal 192.0.2.2");
  EXPECT_EQ(both.external_ipv4->IpText(), "192.0.2.2");
  EXPECT_EQ(both.external_ipv6->IpText(), "2001:db8::1");
  const ServiceOptions taken_back = With("external 192.0.2.1\nexternal 2001:db8::1\nexternal 0.0.0.0");
  EXPECT_FALSE(taken_back.external_ipv4.has_value());
  EXPECT_TRUE(taken_back.external_ipv6.has_value());
  EXPECT_FALSE(With("external 2001:db8::1\nexternal ::").external_ipv6.has_value());
}

TEST(NetworkTest, Internal) {
  EXPECT_EQ(With("internal 192.0.2.1").listen.ToString(), "192.0.2.1:8080");
  EXPECT_EQ(With("internal 192.0.2.1\ninternal ::1").listen.ToString(), "[::1]:8080");
  EXPECT_EQ(With("internal unix:/run/a").listen.ToString(), "unix:/run/a");
  EXPECT_EQ(With("internal unix:@a").listen.ToString(), "unix:@a");
}

}  // namespace
}  // namespace sluice::config
