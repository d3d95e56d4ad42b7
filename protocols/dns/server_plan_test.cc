#include "protocols/dns/server_plan.h"

#include <gtest/gtest.h>

#include "sys/thread/clock.h"

namespace sluice::dns {
namespace {

constexpr int64_t kSecond = sys::kNanosPerSecond;

NameServer Server(uint16_t port) { return {sys::SocketAddress::Loopback(sys::AddressFamily::kIpv4, port)}; }

TEST(ServerPlanTest, ASilentServerHoldsUpTheNextForLessThanThreeSeconds) {
  const ServerPlan plan = PlanOfServers({Server(1), Server(2)}, 15 * kSecond);
  EXPECT_LT(plan.first_try_nanos, 3 * kSecond);
  EXPECT_EQ(plan.tries, 3);
  EXPECT_NEAR(static_cast<double>(plan.server_nanos()), 15e9, 1e6);
}

TEST(ServerPlanTest, ShortTimeoutsHaveFewerTries) {
  EXPECT_EQ(PlanOfServers({Server(1)}, 3 * kSecond).tries, 2);
  EXPECT_EQ(PlanOfServers({Server(1)}, kSecond).tries, 1);
  EXPECT_EQ(PlanOfServers({Server(1)}, kSecond).server_nanos(), kSecond);
  EXPECT_GT(PlanOfServers({Server(1)}, 1).first_try_nanos, 0);
}

TEST(ServerPlanTest, AtMostFiveServers) {
  const std::vector<NameServer> many(9, Server(1));
  EXPECT_EQ(PlanOfServers(many, kSecond).servers.size(), kMaxNameServers);
}

TEST(ServerPlanTest, ResolvConf) {
  ResolvConf conf;
  conf.name_servers = {Server(53).address, Server(54).address};
  conf.rotate = true;
  conf.use_tcp = true;
  const ServerPlan plan = PlanOfResolvConf(conf);
  ASSERT_EQ(plan.servers.size(), 2u);
  EXPECT_TRUE(plan.servers[1].tcp);
  EXPECT_TRUE(plan.rotate);
  EXPECT_EQ(plan.first_try_nanos, 5 * kSecond);
  EXPECT_EQ(plan.server_nanos(), 15 * kSecond);
  EXPECT_EQ(plan.total_nanos(), 20 * kSecond);
}

TEST(ServerPlanTest, ResolvConfWithoutServersMeansThisMachine) {
  const ServerPlan plan = PlanOfResolvConf(ResolvConf());
  ASSERT_EQ(plan.servers.size(), 1u);
  EXPECT_EQ(plan.servers[0].address.ToString(), "127.0.0.1:53");
}

TEST(ServerPlanTest, ResolvConfCannotMakeALookUpEndless) {
  ResolvConf conf;
  conf.timeout_seconds = 30;
  conf.attempts = 5;
  EXPECT_LE(PlanOfResolvConf(conf).server_nanos(), 60 * kSecond);
}

}  // namespace
}  // namespace sluice::dns
