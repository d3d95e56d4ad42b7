#include "protocols/socks/udp_header.h"

#include <string>

#include "gtest/gtest.h"

namespace sluice::socks {
namespace {

using Kind = UdpHeader::Kind;

std::string Bytes(std::initializer_list<int> values) {
  std::string result;
  for (int value : values) result += static_cast<char>(value);
  return result;
}

std::string Named(const std::string& name, int port = 53) {
  return Bytes({0, 0, 0, 3, static_cast<int>(name.size())}) + name + Bytes({port >> 8, port & 0xff});
}

TEST(UdpHeader, Ipv4) {
  const std::string datagram = Bytes({0, 0, 0, 1, 10, 0, 0, 7, 0, 53}) + "query";
  const UdpHeader header = ParseUdpHeader(datagram);
  EXPECT_EQ(header.kind, Kind::kAddress);
  EXPECT_EQ(header.address.ToString(), "10.0.0.7:53");
  EXPECT_EQ(datagram.substr(header.bytes), "query");
}

TEST(UdpHeader, Ipv6AndMapped) {
  const std::string head = Bytes({0, 0, 0, 4});
  EXPECT_EQ(ParseUdpHeader(head + std::string(15, '\0') + Bytes({1, 0, 53})).address.ToString(), "[::1]:53");
  EXPECT_EQ(ParseUdpHeader(head + std::string(10, '\0') + Bytes({255, 255, 10, 1, 2, 3, 0, 53})).address.ToString(),
            "10.1.2.3:53");
}

TEST(UdpHeader, Name) {
  const std::string datagram = Named("www.example.net") + "x";
  const UdpHeader header = ParseUdpHeader(datagram);
  EXPECT_EQ(header.kind, Kind::kName);
  EXPECT_EQ(header.name, "www.example.net");
  EXPECT_EQ(header.port, 53);
  EXPECT_EQ(header.bytes, datagram.size() - 1);
  const std::string longest = Named(std::string(255, 'a'));
  EXPECT_EQ(ParseUdpHeader(longest).name, std::string(255, 'a'));
  EXPECT_EQ(ParseUdpHeader(longest).bytes, kMostUdpHeaderBytes);
}

TEST(UdpHeader, TextOfAnAddressIsThatAddress) {
  EXPECT_EQ(ParseUdpHeader(Named("127.0.0.1")).address.ToString(), "127.0.0.1:53");
  EXPECT_EQ(ParseUdpHeader(Named("[::1]")).address.ToString(), "[::1]:53");
  EXPECT_EQ(ParseUdpHeader(Named("127.1")).kind, Kind::kName) << "for the resolver to refuse";
}

TEST(UdpHeader, EmptyPayloadIsADatagram) {
  const UdpHeader header = ParseUdpHeader(Bytes({0, 0, 0, 1, 10, 0, 0, 7, 0, 53}));
  EXPECT_EQ(header.kind, Kind::kAddress);
  EXPECT_EQ(header.bytes, 10u);
}

TEST(UdpHeader, RsvIsNotLookedAt) {
  EXPECT_EQ(ParseUdpHeader(Bytes({7, 7, 0, 1, 10, 0, 0, 7, 0, 53})).kind, Kind::kAddress);
}

TEST(UdpHeader, EveryPrefixIsShort) {
  for (const std::string& whole :
       {Bytes({0, 0, 0, 1, 10, 0, 0, 7, 0, 53}), Named("name.test"), Bytes({0, 0, 0, 4}) + std::string(18, 1)}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      EXPECT_EQ(ParseUdpHeader(absl::string_view(whole).substr(0, size)).kind, Kind::kShort) << size;
    }
    EXPECT_NE(ParseUdpHeader(whole).kind, Kind::kShort);
  }
}

TEST(UdpHeader, Refused) {
  EXPECT_EQ(ParseUdpHeader(Bytes({0, 0, 1, 1, 10, 0, 0, 7, 0, 53})).kind, Kind::kFragment);
  EXPECT_EQ(ParseUdpHeader(Bytes({0, 0, 0x80, 1, 10, 0, 0, 7, 0, 53})).kind, Kind::kFragment);
  for (int type : {0, 2, 5, 7, 255}) {
    EXPECT_EQ(ParseUdpHeader(Bytes({0, 0, 0, type, 10, 0, 0, 7, 0, 53})).kind, Kind::kAddressType);
  }
  EXPECT_EQ(ParseUdpHeader(Bytes({0, 0, 0, 1, 10, 0, 0, 7, 0, 0})).kind, Kind::kNoDestination);
  EXPECT_EQ(ParseUdpHeader(Bytes({0, 0, 0, 1, 0, 0, 0, 0, 0, 53})).kind, Kind::kNoDestination);
  EXPECT_EQ(ParseUdpHeader(Bytes({0, 0, 0, 4}) + std::string(16, '\0') + Bytes({0, 53})).kind, Kind::kNoDestination);
  EXPECT_EQ(ParseUdpHeader(Named("")).kind, Kind::kNoDestination);
  EXPECT_EQ(ParseUdpHeader(Named("name", 0)).kind, Kind::kNoDestination);
  EXPECT_EQ(ParseUdpHeader(Named("0.0.0.0")).kind, Kind::kNoDestination);
  EXPECT_EQ(ParseUdpHeader(Named("a\nb")).kind, Kind::kNoDestination);
  EXPECT_EQ(ParseUdpHeader(Named(std::string("a\0b", 3))).kind, Kind::kNoDestination);
}

TEST(UdpHeader, WhatIsWrittenIsRead) {
  for (const char* text : {"127.0.0.1", "2001:db8::7"}) {
    const auto address = *sys::SocketAddress::ParseIp(text, 4321);
    char out[kMostAddressHeaderBytes];
    const size_t size = WriteUdpHeader(address, out);
    EXPECT_EQ(size, address.family() == sys::AddressFamily::kIpv4 ? 10u : 22u);
    EXPECT_EQ(ParseUdpHeader(absl::string_view(out, size)).address, address);
  }
}

}  // namespace
}  // namespace sluice::socks
