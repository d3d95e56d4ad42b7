#include "protocols/access/own_addresses.h"

#include <string>

#include "gtest/gtest.h"

namespace sluice::access {
namespace {

using sys::SocketAddress;

SocketAddress Ip(const std::string& text) { return SocketAddress::ParseIp(text, 0).value(); }

TEST(IsLocalTest, LocalIsMoreThanOneAddress) {
  const OwnAddresses own({Ip("192.0.2.7"), Ip("2001:db8::7"), SocketAddress::ParseIp("fe80::1%1", 9).value()});
  for (const char* local : {"127.0.0.1",
                            "127.255.255.255",
                            "0.0.0.0",
                            "0.1.2.3",
                            "169.254.0.1",
                            "169.254.169.254",
                            "::",
                            "::1",
                            "fe80::1",
                            "febf::1",
                            "::ffff:127.0.0.1",
                            "::ffff:0.0.0.0",
                            "::127.0.0.1",
                            "64:ff9b::7f00:1",
                            "64:ff9b::0.0.0.0",
                            "64:ff9b::169.254.1.1",
                            "64:ff9b:1::7f00:1",
                            "64:ff9b:1:7f00:0:100::",
                            "192.0.2.7",
                            "2001:db8::7",
                            "::ffff:192.0.2.7",
                            "64:ff9b::192.0.2.7",
                            "::192.0.2.7"}) {
    EXPECT_TRUE(IsLocal(Ip(local), &own)) << local;
  }
  EXPECT_TRUE(IsLocal(SocketAddress::ParseUnix("/run/a").value(), nullptr));
}

TEST(IsLocalTest, NeighboursAreNot) {
  const OwnAddresses own({Ip("192.0.2.7")});
  for (const char* other : {"126.255.255.255", "128.0.0.1", "1.0.0.0", "169.253.255.255", "169.255.0.0", "10.0.0.1",
                            "192.0.2.8", "fe7f::1", "fec0::1", "2001:db8::7", "64:ff9b::8.8.8.8", "::8.8.8.8",
                            "64:ff9b:1::8.8.8.8", "64:ff9c::7f00:1", "::1:7f00:1"}) {
    EXPECT_FALSE(IsLocal(Ip(other), &own)) << other;
  }
  EXPECT_FALSE(IsLocal(Ip("192.0.2.7"), nullptr));
  EXPECT_FALSE(IsLocal(SocketAddress(), nullptr));
}

}  // namespace
}  // namespace sluice::access
