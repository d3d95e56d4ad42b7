#include "protocols/config/commands/service_options.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protocols/config/testing/build_text.h"
#include "protocols/service/snapshot.h"
#include "sys/net/address_range.h"
#include "sys/net/socket_options.h"

namespace sluice::config {
namespace {

using service::FamilyPreference;
using service::LogOptions;
using service::ServiceOptions;
using sys::SocketOption;
using sys::SocketOptionValue;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Line(const std::string& options) { return absl::StrCat("tcppm ", options, " 8080 192.0.2.1 80\n"); }
ServiceOptions With(const std::string& options) { return ServiceOf(Line(options)); }
std::string SaidOf(const std::string& options) { return Said(Line(options)); }

TEST(ServiceOptionsTest, Family) {
  EXPECT_EQ(With("").family, FamilyPreference::kPreferIpv4);
  EXPECT_EQ(With("-4").family, FamilyPreference::kIpv4Only);
  EXPECT_EQ(With("-6").family, FamilyPreference::kIpv6Only);
  EXPECT_EQ(With("-46").family, FamilyPreference::kPreferIpv4);
  EXPECT_EQ(With("-64").family, FamilyPreference::kPreferIpv6);
}

TEST(ServiceOptionsTest, OutgoingAddresses) {
  const ServiceOptions options = With("-e192.0.2.2 -e2001:db8::2");
  EXPECT_EQ(options.external_ipv4->IpText(), "192.0.2.2");
  EXPECT_EQ(options.external_ipv6->IpText(), "2001:db8::2");
}

TEST(ServiceOptionsTest, Devices) {
  const ServiceOptions options = With("-Dieth0 -Deeth1");
  EXPECT_EQ(options.listen_device, "eth0");
  EXPECT_EQ(options.outgoing_device, "eth1");
}

TEST(ServiceOptionsTest, SocketOptionListsAddUp) {
  const ServiceOptions options = With("-ocTCP_NODELAY=0,SO_KEEPALIVE -ocTCP_QUICKACK -osTCP_CORK -olTCP_FASTOPEN=5");
  EXPECT_THAT(options.client_socket_options, ElementsAre(SocketOptionValue{SocketOption::kTcpNodelay, 0},
                                                         SocketOptionValue{SocketOption::kSoKeepalive, {}},
                                                         SocketOptionValue{SocketOption::kTcpQuickack, {}}));
  EXPECT_THAT(options.upstream_socket_options, ElementsAre(SocketOptionValue{SocketOption::kTcpCork, {}}));
  EXPECT_THAT(options.listen_socket_options, ElementsAre(SocketOptionValue{SocketOption::kTcpFastopen, 5}));
}

TEST(ServiceOptionsTest, MaxsegIsTheValueOfTcpMaxseg) {
  EXPECT_THAT(ServiceOf("maxseg 1400\n" + Line("-osTCP_MAXSEG")).upstream_socket_options,
              ElementsAre(SocketOptionValue{SocketOption::kTcpMaxseg, 1400}));
  EXPECT_THAT(ServiceOf("maxseg 1400\n" + Line("-ocTCP_MAXSEG=600")).client_socket_options,
              ElementsAre(SocketOptionValue{SocketOption::kTcpMaxseg, 600}));
  EXPECT_THAT(SaidOf("-osTCP_MAXSEG"), HasSubstr("names TCP_MAXSEG without a value"));
}

TEST(ServiceOptionsTest, DataPath) {
  const ServiceOptions options = With("-s6:65536,3,8192 -g8000,2,3 -b4096 -C");
  EXPECT_FALSE(options.relay.splice.from_upstream);
  EXPECT_TRUE(options.relay.splice.from_client);
  EXPECT_EQ(options.relay.splice.min_bytes, 65536);
  EXPECT_EQ(options.relay.grace.traffic_bytes, 8000);
  EXPECT_EQ(options.relay.grace.reads, 2);
  EXPECT_EQ(options.relay.grace.delay_millis, 3);
  EXPECT_EQ(options.relay.read_bytes, 4096);
  EXPECT_FALSE(options.relay.half_close);
  EXPECT_TRUE(With("-C1").relay.half_close);
}

TEST(ServiceOptionsTest, LogOfOneService) {
  EXPECT_EQ(With("-l").log.target, LogOptions::Target::kStdout);
  EXPECT_EQ(With("-l/dev/null").log.target, LogOptions::Target::kDevNull);
  EXPECT_EQ(With("-l@relay").log.name, "relay");
  EXPECT_EQ(With("-l@relay").log.target, LogOptions::Target::kSyslog);
  const ServiceOptions file = With("-l/var/log/x \"-fL%t %E\"");
  EXPECT_EQ(file.log.target, LogOptions::Target::kFile);
  EXPECT_EQ(file.log.name, "/var/log/x");
  EXPECT_EQ(file.log.format, "L%t %E");
}

TEST(ServiceOptionsTest, WithoutEffectButWithANote) {
  for (const char* option : {"-S65536", "-t", "-d"}) {
    EXPECT_THAT(SaidOf(option), HasSubstr("warning: tcppm: ")) << option;
    EXPECT_NE(BuildText(Line(option)).snapshot, nullptr) << option;
  }
  EXPECT_EQ(SaidOf("-n"), "");
}

TEST(ServiceOptionsTest, ProxyHeaders) {
  EXPECT_FALSE(With("").proxy_protocol.required);
  const service::ProxyProtocol anybody = With("-H -i127.0.0.1").proxy_protocol;
  EXPECT_TRUE(anybody.required);
  EXPECT_TRUE(anybody.sources.empty());
  const service::ProxyProtocol listed = With("-H192.0.2.1,10.0.0.0/8").proxy_protocol;
  EXPECT_TRUE(listed.required);
  EXPECT_THAT(listed.sources,
              ElementsAre(*sys::AddressRange::Parse("192.0.2.1"), *sys::AddressRange::Parse("10.0.0.0/8")));
  EXPECT_THAT(SaidOf("-H"), HasSubstr("warning: tcppm: -H without a list"));
  EXPECT_EQ(SaidOf("-H -i127.0.0.1"), "");
  EXPECT_EQ(SaidOf("-H -iunix:/a"), "");
  EXPECT_THAT(SaidOf("-H10.0.0.1 -iunix:/a"), HasSubstr("error: tcppm: -H lists addresses"));
  EXPECT_THAT(SaidOf("-H10.0.0.0/33"), HasSubstr("lists '10.0.0.0/33' as a source"));
}

TEST(ServiceOptionsTest, LastOfTwoCounts) {
  EXPECT_THAT(SaidOf("-b1 -b2"), HasSubstr("warning: tcppm: -b is given twice, the last one counts"));
  EXPECT_EQ(BuildText(Line("-b1 -b2")).snapshot->services[0]->relay.read_bytes, 2);
  EXPECT_THAT(SaidOf("-4 -64"), HasSubstr("warning: tcppm: address family is given twice"));
}

TEST(ServiceOptionsTest, WhatIsNotForIt) {
  for (const char* option : {"-R1.2.3.4:5", "-r1.2.3.4:5", "-orTCP_NODELAY", "-oRTCP_NODELAY", "-ni/a", "-ne/a"}) {
    EXPECT_THAT(SaidOf(option), HasSubstr(absl::StrCat("error: tcppm: '", option, "' is not built yet"))) << option;
  }
  for (const char* option : {"-N1.2.3.4", "-Ne1.2.3.4", "-Ni1.2.3.4", "-a", "-a2", "-u", "-u2", "-U3", "-ha", "-P1",
                             "-x", "-Ximap", "-c1", "-F1.2.3.4"}) {
    EXPECT_THAT(SaidOf(option), HasSubstr(absl::StrCat("error: tcppm: '", option, "' is an option of "))) << option;
  }
  EXPECT_THAT(SaidOf("-I"), HasSubstr("inetd mode"));
  for (const char* option : {"-z", "-", "--", "--help", "-9", "-o", "-D", "-O"}) {
    EXPECT_THAT(SaidOf(option), HasSubstr(absl::StrCat("error: tcppm: '", option, "' is unknown, "))) << option;
  }
}

}  // namespace
}  // namespace sluice::config
