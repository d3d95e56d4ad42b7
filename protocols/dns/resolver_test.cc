#include "protocols/dns/resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "protocols/dns/testing/message_builder.h"
#include "protocols/dns/testing/mock_dns_server.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::dns {
namespace {

using testing::A;
using testing::Aaaa;
using ::testing::ElementsAre;
using testing::kTypeA;
using testing::kTypeAaaa;
using testing::MockDnsServer;

sys::MonotonicNanos InSeconds(int64_t seconds) { return sys::Clock::System().Now() + seconds * sys::kNanosPerSecond; }

std::vector<std::string> Texts(const Result& result) {
  std::vector<std::string> texts;
  for (const sys::SocketAddress& address : result.addresses) texts.push_back(address.IpText());
  return texts;
}

class ResolverTest : public ::testing::Test {
 protected:
  ResolverOptions Options() {
    ResolverOptions options;
    options.name_servers = {{first_.address()}};
    options.hosts_path = "";
    options.resolv_conf_path = "";
    options.cache_clock = &clock_;
    return options;
  }

  void Start(ResolverOptions options) {
    absl::StatusOr<std::unique_ptr<Resolver>> resolver = Resolver::Create(std::move(options));
    ASSERT_TRUE(resolver.ok()) << resolver.status();
    resolver_ = *std::move(resolver);
  }

  Result Ask(const std::string& name, FamilyPreference family = FamilyPreference::kPreferIpv4) {
    return resolver_->ResolveBlocking({name, family}, InSeconds(20));
  }

  MockDnsServer first_;
  MockDnsServer second_;
  sys::ManualClock clock_;
  std::unique_ptr<Resolver> resolver_;
};

TEST_F(ResolverTest, AsksForBothFamiliesAndInterleavesThem) {
  first_.Set("both.test", kTypeA, {.answers = {A("both.test", "192.0.2.1"), A("both.test", "192.0.2.2")}});
  first_.Set("both.test", kTypeAaaa, {.answers = {Aaaa("both.test", "2001:db8::1")}});
  Start(Options());
  EXPECT_THAT(Texts(Ask("both.test")), ElementsAre("192.0.2.1", "2001:db8::1", "192.0.2.2"));
  EXPECT_THAT(Texts(Ask("both.test", FamilyPreference::kPreferIpv6)),
              ElementsAre("2001:db8::1", "192.0.2.1", "192.0.2.2"));
  EXPECT_THAT(Texts(Ask("both.test", FamilyPreference::kIpv4Only)), ElementsAre("192.0.2.1", "192.0.2.2"));
  EXPECT_THAT(Texts(Ask("both.test", FamilyPreference::kIpv6Only)), ElementsAre("2001:db8::1"));
  EXPECT_EQ(first_.count("both.test"), 2);
}

}  // namespace
}  // namespace sluice::dns
