#include "protocols/config/commands/services.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protocols/config/testing/build_text.h"
#include "protocols/service/snapshot.h"

namespace sluice::config {
namespace {

using service::ServiceOptions;
using ::testing::HasSubstr;

TEST(TcppmTest, AddressDestination) {
  const ServiceOptions options = ServiceOf("tcppm 8080 192.0.2.1 80");
  EXPECT_EQ(options.type, service::ServiceType::kTcpPortMap);
  EXPECT_EQ(options.log_name, "TCPPM");
  EXPECT_EQ(options.listen.ToString(), "0.0.0.0:8080");
  EXPECT_EQ(options.target.address.ToString(), "192.0.2.1:80");
  EXPECT_EQ(options.target.port, 80);
  EXPECT_EQ(options.target.host_name, "");
  for (const char* v6 : {"tcppm 8080 2001:db8::1 80", "tcppm 8080 [2001:db8::1] 80"}) {
    EXPECT_EQ(ServiceOf(v6).target.address.ToString(), "[2001:db8::1]:80");
  }
}

TEST(TcppmTest, NameDestination) {
  const ServiceOptions options = ServiceOf("tcppm 8080 www.Example.com. 80");
  EXPECT_EQ(options.target.address.family(), sys::AddressFamily::kNone);
  EXPECT_EQ(options.target.host_name, "www.Example.com.");
  EXPECT_EQ(options.target.port, 80);
}

TEST(TcppmTest, UnixDestination) {
  const ServiceOptions options = ServiceOf("tcppm 8080 unix:/run/a 12");
  EXPECT_EQ(options.target.address.ToString(), "unix:/run/a");
  EXPECT_EQ(options.target.host_name, "");
  EXPECT_EQ(options.target.port, 0);
  EXPECT_EQ(ServiceOf("tcppm 8080 unix:@a 0").target.address.ToString(), "unix:@a");
}

TEST(TcppmTest, ListensOnAnyAddressOfItsFamily) {
  EXPECT_EQ(ServiceOf("tcppm -4 8080 192.0.2.1 80").listen.ToString(), "0.0.0.0:8080");
  EXPECT_EQ(ServiceOf("tcppm -46 8080 192.0.2.1 80").listen.ToString(), "0.0.0.0:8080");
  EXPECT_EQ(ServiceOf("tcppm -6 8080 2001:db8::1 80").listen.ToString(), "[::]:8080");
  EXPECT_EQ(ServiceOf("tcppm -64 8080 2001:db8::1 80").listen.ToString(), "[::]:8080");
  EXPECT_EQ(ServiceOf("internal 0.0.0.0\ntcppm -6 8080 2001:db8::1 80").listen.ToString(), "0.0.0.0:8080");
}

TEST(TcppmTest, OptionBeatsInternal) {
  EXPECT_EQ(ServiceOf("internal 192.0.2.1\ntcppm -i192.0.2.2 8080 192.0.2.9 80").listen.ToString(), "192.0.2.2:8080");
  EXPECT_EQ(ServiceOf("internal unix:/a\ntcppm -i192.0.2.2 8080 192.0.2.9 80").listen.ToString(), "192.0.2.2:8080");
  EXPECT_EQ(ServiceOf("internal 192.0.2.1\ntcppm -iunix:@b 8080 192.0.2.9 80").listen.ToString(), "unix:@b");
  EXPECT_EQ(ServiceOf("external 192.0.2.1\nexternal 2001:db8::1\ntcppm -e192.0.2.2 8080 192.0.2.9 80")
                .external_ipv4->IpText(),
            "192.0.2.2");
}

TEST(TcppmTest, PortOptionMustAgree) {
  EXPECT_EQ(ServiceOf("tcppm -p8080 8080 192.0.2.1 80").listen.port(), 8080);
  EXPECT_EQ(ServiceOf("tcppm 0 192.0.2.1 80").listen.port(), 0);
  EXPECT_THAT(Said("tcppm -p8081 8080 192.0.2.1 80"), HasSubstr("SRCPORT 8080 and -p8081 are two ports"));
  EXPECT_THAT(Said("tcppm -p0 8080 192.0.2.1 80"), HasSubstr("SRCPORT 8080 and -p0 are two ports"));
}

TEST(TcppmTest, PositionsAreCounted) {
  EXPECT_THAT(Said("tcppm -i192.0.2.1 8080 192.0.2.1"), HasSubstr("here there are 2"));
  EXPECT_THAT(Said("tcppm 8080 192.0.2.1 80 -s"), HasSubstr("put the options before them"));
  EXPECT_THAT(Said("tcppm 8080 192.0.2.1 80 # x"), HasSubstr("give comments a line of their own"));
}

TEST(TcppmTest, AllThatIsWrongIsSaid) {
  const std::string said = Said("tcppm -i192.0.2.1 x 300.0.0.1 0");
  EXPECT_THAT(said, HasSubstr("SRCPORT 'x'"));
  EXPECT_THAT(said, HasSubstr("DST '300.0.0.1' is no host name: "));
  EXPECT_THAT(said, HasSubstr("DSTPORT '0'"));
}

TEST(TcppmTest, DestinationThatIsTheServiceItself) {
  for (const char* text :
       {"tcppm -i127.0.0.1 8080 127.0.0.1 8080", "tcppm 8080 127.0.0.5 8080", "tcppm -6 8080 ::1 8080",
        "tcppm -iunix:/a 0 unix:/a 0", "tcppm -i192.0.2.1 8080 192.0.2.1 8080"}) {
    EXPECT_THAT(Said(text), HasSubstr("warning: tcppm: the destination is the service itself")) << text;
    EXPECT_NE(BuildText(text).snapshot, nullptr);
  }
  for (const char* text :
       {"tcppm -i127.0.0.1 8080 127.0.0.1 8081", "tcppm -i127.0.0.1 8080 127.0.0.2 8080", "tcppm 8080 192.0.2.1 8080",
        "tcppm 8080 ::1 8080", "tcppm 0 127.0.0.1 80", "tcppm -iunix:/a 80 127.0.0.1 80"}) {
    EXPECT_EQ(Said(text), "") << text;
  }
}

TEST(UdppmTest, IsAPortMapForDatagrams) {
  const ServiceOptions options = ServiceOf("udppm 53000 192.0.2.1 53");
  EXPECT_EQ(options.type, service::ServiceType::kUdpPortMap);
  EXPECT_TRUE(service::IsDatagram(options.type));
  EXPECT_EQ(options.log_name, "UDPPM");
  EXPECT_EQ(options.listen.ToString(), "0.0.0.0:53000");
  EXPECT_EQ(options.target.address.ToString(), "192.0.2.1:53");
  EXPECT_FALSE(options.single_datagram);
  EXPECT_TRUE(ServiceOf("udppm -s 53000 ns.example.com 53").single_datagram);
}

TEST(UdppmTest, HasNothingOfStreams) {
  EXPECT_THAT(Said("udppm -s7 53 192.0.2.1 53"), HasSubstr("'-s7' is no mode"));
  EXPECT_THAT(Said("udppm -b1000 53 192.0.2.1 53"), HasSubstr("'-b1000' is for streams"));
  EXPECT_THAT(Said("udppm 53 unix:/run/x 0"), HasSubstr("which unix sockets do not speak"));
  EXPECT_THAT(Said("udppm -iunix:/run/x 53 192.0.2.1 53"), HasSubstr("which unix sockets do not speak"));
}

TEST(SocksTest, Defaults) {
  const ServiceOptions options = ServiceOf("socks");
  EXPECT_EQ(options.type, service::ServiceType::kSocks);
  EXPECT_EQ(options.log_name, "SOCKS");
  EXPECT_EQ(options.listen.ToString(), "0.0.0.0:1080");
  EXPECT_EQ(options.credentials, service::ClientCredentials::kOffered);
  EXPECT_FALSE(options.socks.told_external.has_value());
  EXPECT_FALSE(options.socks.told_internal.has_value());
}

TEST(SocksTest, ListensWhereItIsTold) {
  EXPECT_EQ(ServiceOf("socks -p0 -i127.0.0.1").listen.ToString(), "127.0.0.1:0");
  EXPECT_EQ(ServiceOf("internal 192.0.2.1\nsocks -p1081").listen.ToString(), "192.0.2.1:1081");
  EXPECT_EQ(ServiceOf("socks -6").listen.ToString(), "[::]:1080");
  EXPECT_EQ(ServiceOf("socks -iunix:/run/x").listen.ToString(), "unix:/run/x");
}

TEST(SocksTest, Credentials) {
  using service::ClientCredentials;
  EXPECT_EQ(ServiceOf("socks -u").credentials, ClientCredentials::kNever);
  EXPECT_EQ(ServiceOf("socks -u0").credentials, ClientCredentials::kNever);
  EXPECT_EQ(ServiceOf("socks -u1").credentials, ClientCredentials::kOffered);
  const BuildResult insisting = BuildText("socks -u2");
  ASSERT_NE(insisting.snapshot, nullptr);
  EXPECT_EQ(insisting.snapshot->services.back()->credentials, ClientCredentials::kRequired);
  EXPECT_THAT(insisting.diagnostics.ToString(), HasSubstr("warning: socks: -u2 makes every client"));
  EXPECT_EQ(ServiceOf("auth strong\nsocks -u3").credentials, service::ClientCredentials::kVerified);
  EXPECT_THAT(Said("socks -u3"), HasSubstr("warning: socks: -u3 makes every client give a name and a password"));
  EXPECT_THAT(Said("socks -u4"), HasSubstr("error: socks: '-u4' is none of"));
}

TEST(SocksTest, ToldAddresses) {
  const ServiceOptions both = ServiceOf("socks -Ne192.0.2.1 -Ni2001:db8::1");
  EXPECT_EQ(both.socks.told_external->IpText(), "192.0.2.1");
  EXPECT_EQ(both.socks.told_internal->IpText(), "2001:db8::1");
  EXPECT_EQ(ServiceOf("socks -N192.0.2.1").socks.told_external->IpText(), "192.0.2.1");
  EXPECT_THAT(Said("socks -Nexample.com"), HasSubstr("'-Nexample.com' is no address that clients can be told"));
  EXPECT_THAT(Said("socks -Ni::"), HasSubstr("'-Ni::' is no address that clients can be told"));
}

TEST(SocksTest, UdpAssociations) {
  EXPECT_TRUE(ServiceOf("socks").socks.log_each_destination);
  for (const char* option : {"-U", "-U0", "-U2"}) {
    EXPECT_FALSE(ServiceOf(std::string("socks ") + option).socks.log_each_destination) << option;
  }
  for (const char* option : {"-U1", "-U3"}) {
    EXPECT_TRUE(ServiceOf(std::string("socks ") + option).socks.log_each_destination) << option;
  }
  EXPECT_EQ(ServiceOf("socks").socks.udp_ports.first, 0);
  const ServiceOptions options = ServiceOf("udp_ports 40000-40009\nsocks");
  EXPECT_EQ(options.socks.udp_ports.first, 40000);
  EXPECT_EQ(options.socks.udp_ports.last, 40009);
  EXPECT_EQ(ServiceOf("udp_ports 40000-40009\nudp_ports 0\nsocks").socks.udp_ports.last, 0);
  EXPECT_FALSE(options.socks.udp_ports.shared);
  EXPECT_TRUE(ServiceOf("udp_ports 40000\nsocks").socks.udp_ports.shared);
  EXPECT_FALSE(ServiceOf("udp_ports 40000-40000\nsocks").socks.udp_ports.shared);
  EXPECT_THAT(Said("udp_ports 5-4\nsocks"), HasSubstr("'5-4' is no range of ports"));
}

TEST(TransparentTest, OptionAndCommand) {
  EXPECT_FALSE(ServiceOf("tcppm 8080 192.0.2.1 80").transparent);
  EXPECT_TRUE(ServiceOf("tcppm -T 8080 192.0.2.1 80").transparent);
  EXPECT_TRUE(ServiceOf("transparent\nsocks").transparent);
  EXPECT_FALSE(ServiceOf("transparent\nnotransparent\nsocks").transparent);
  EXPECT_FALSE(ServiceOf("transparent\nudppm 53 192.0.2.1 53").transparent);
  EXPECT_EQ(Said("tcppm -T 8080 127.0.0.1 8080"), "");
  EXPECT_THAT(Said("udppm -T 53 192.0.2.1 53"), HasSubstr("'-T' is for streams"));
  EXPECT_THAT(Said("proxy -T1"), HasSubstr("'-T1' is unknown"));
  EXPECT_THAT(Said("transparent\nproxy -iunix:/a"), HasSubstr("error: proxy: -T asks where connections"));
}

TEST(TlsprTest, Options) {
  const ServiceOptions plain = ServiceOf("tlspr");
  EXPECT_EQ(plain.type, service::ServiceType::kTlsSniff);
  EXPECT_EQ(plain.log_name, "TLSPR");
  EXPECT_EQ(plain.listen.ToString(), "0.0.0.0:1443");
  EXPECT_EQ(plain.sniff.demand, service::TlsDemand::kNone);
  EXPECT_EQ(plain.sniff.target_port, 0);
  EXPECT_FALSE(plain.default_target.has_value());
  const ServiceOptions all = ServiceOf("tlspr -p1 -P8443 -c3 -hexample.com:80");
  EXPECT_EQ(all.sniff.demand, service::TlsDemand::kServerCertificate);
  EXPECT_EQ(all.sniff.target_port, 8443);
  EXPECT_EQ(all.default_target->host_name, "example.com");
  EXPECT_EQ(all.default_target->port, 80);
}

TEST(TlsprTest, DefaultDestination) {
  EXPECT_EQ(ServiceOf("tlspr -hexample.com").default_target->port, 0);
  EXPECT_EQ(ServiceOf("tlspr -h192.0.2.1").default_target->address.ToString(), "192.0.2.1:0");
  EXPECT_EQ(ServiceOf("tlspr -h192.0.2.1:80").default_target->address.ToString(), "192.0.2.1:80");
  EXPECT_EQ(ServiceOf("tlspr -h2001:db8::1").default_target->address.ToString(), "[2001:db8::1]:0");
  EXPECT_EQ(ServiceOf("tlspr -h[2001:db8::1]:80").default_target->address.ToString(), "[2001:db8::1]:80");
  EXPECT_EQ(ServiceOf("tlspr -hunix:/run/a").default_target->address.ToString(), "unix:/run/a");
  for (const char* word : {"-h", "-hexample.com:", "-hexample.com:x", "-h:80", "-ha:b:c", "-h127.1"}) {
    EXPECT_THAT(Said(std::string("tlspr ") + word), HasSubstr("error: tlspr: '")) << word;
  }
}

TEST(TlsprTest, WhatItHasNot) {
  EXPECT_THAT(Said("tlspr -s3"), HasSubstr("'-s3' would split the ClientHello"));
  EXPECT_THAT(Said("tlspr -u2"), HasSubstr("'-u2' is an option of proxy, socks and auto"));
  EXPECT_THAT(Said("tlspr -c5"), HasSubstr("'-c5' is none of -c0 to -c4"));
}

TEST(AutoTest, HasTheOptionsOfThree) {
  const ServiceOptions options = ServiceOf("auto -P8443 -c2 -u -a1 -U0 -N192.0.2.1 -s3");
  EXPECT_EQ(options.type, service::ServiceType::kAuto);
  EXPECT_EQ(options.log_name, "AUTO");
  EXPECT_EQ(options.listen.port(), 8080);
  EXPECT_EQ(options.sniff.demand, service::TlsDemand::kServerHello);
  EXPECT_EQ(options.credentials, service::ClientCredentials::kNever);
  EXPECT_EQ(options.http.disclosure, service::ClientDisclosure::kRandom);
  EXPECT_FALSE(options.socks.log_each_destination);
  EXPECT_FALSE(options.relay.splice.automatic);
}

TEST(SocksTest, NothingStandsBehindTheOptions) {
  EXPECT_THAT(Said("socks 1080"), HasSubstr("'1080' stands behind the options"));
  EXPECT_THAT(Said("socks -p1 # x"), HasSubstr("give comments a line of their own"));
}

}  // namespace
}  // namespace sluice::config
