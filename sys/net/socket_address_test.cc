#include "sys/net/socket_address.h"

#include <gtest/gtest.h>
#include <sys/un.h>

#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "sys/base/unique_fd.h"

namespace sluice::sys {
namespace {

SocketAddress RoundTrip(const SocketAddress& address) {
  sockaddr_storage storage;
  const socklen_t length = address.ToSockaddr(storage);
  return SocketAddress::FromSockaddr(reinterpret_cast<const sockaddr*>(&storage), length);
}

TEST(SocketAddressTest, IsSmall) { EXPECT_EQ(sizeof(SocketAddress), 32u); }

TEST(SocketAddressTest, ParsesAndPrintsNumericAddresses) {
  for (const auto& [text, printed] : std::initializer_list<std::pair<const char*, const char*>>{
           {"127.0.0.1", "127.0.0.1:80"},
           {"255.255.255.255", "255.255.255.255:80"},
           {"0.0.0.0", "0.0.0.0:80"},
           {"::1", "[::1]:80"},
           {"[::1]", "[::1]:80"},
           {"2001:DB8:0:0::5", "[2001:db8::5]:80"},
           {"::", "[::]:80"},
           {"fe80::1%1", "[fe80::1%1]:80"},
           {"fe80::1%lo", "[fe80::1%1]:80"},
           {"::ffff:10.1.2.3", "10.1.2.3:80"},
           {"[::ffff:a01:203]", "10.1.2.3:80"},
       }) {
    absl::StatusOr<SocketAddress> address = SocketAddress::ParseIp(text, 80);
    ASSERT_TRUE(address.ok()) << text << ": " << address.status();
    EXPECT_EQ(address->ToString(), printed) << text;
    EXPECT_EQ(RoundTrip(*address), *address) << text;
  }
}

TEST(SocketAddressTest, RefusesWhatIsNotAFullNumericAddress) {
  for (const char* text :
       {"", "127.1", "010.0.0.1", "0x7f.0.0.1", "1.2.3.4.5", "256.0.0.1", "localhost", "[127.0.0.1]", "[::1", "::1]",
        "1:2:3", ":::", "fe80::1%nosuchif", "fe80::1%", "127.0.0.1 ", " 127.0.0.1", "127.0.0.1:80", "%lo", "[]"}) {
    absl::StatusOr<SocketAddress> address = SocketAddress::ParseIp(text, 80);
    EXPECT_FALSE(address.ok()) << text;
    EXPECT_EQ(address.status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_FALSE(SocketAddress::ParseIp(absl::string_view("127.0.0.1\0x", 11), 80).ok());
  const absl::Status too_long = SocketAddress::ParseIp(std::string(100000, '1'), 80).status();
  EXPECT_LT(too_long.message().size(), 300u);
}

TEST(SocketAddressTest, UnixPathsAndAbstractNamesKeepTheirLimits) {
  const std::string longest_path = "/" + std::string(106, 'p');
  const std::string longest_name = "@" + std::string(107, 'n');
  for (const std::string& name : {std::string("/run/x.sock"), std::string("@abstract"), longest_path, longest_name}) {
    absl::StatusOr<SocketAddress> address = SocketAddress::ParseUnix(name);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->unix_path(), name);
    EXPECT_EQ(address->ToString(), "unix:" + name);
    EXPECT_EQ(address->port(), 0);
    EXPECT_EQ(RoundTrip(*address), *address);
  }
  for (const std::string& name : {std::string(), std::string("relative"), std::string("@"), std::string("/"),
                                  longest_path + "x", longest_name + "x", std::string("/a\0b", 4)}) {
    EXPECT_FALSE(SocketAddress::ParseUnix(name).ok()) << name;
  }
}

TEST(SocketAddressTest, UnixNamesFromTheKernelAreBoundedAndSafeToLog) {
  sockaddr_un un{};
  un.sun_family = AF_UNIX;
  const auto* raw = reinterpret_cast<const sockaddr*>(&un);
  // Unnamed, as the client end of a unix connection is.
  EXPECT_EQ(SocketAddress::FromSockaddr(raw, sizeof(sa_family_t)).ToString(), "unix:");
  // A path that fills the array has no NUL.
  std::memset(un.sun_path, 'x', sizeof un.sun_path);
  EXPECT_EQ(SocketAddress::FromSockaddr(raw, sizeof un).unix_path(), std::string(108, 'x'));
  std::memcpy(un.sun_path, "/a\nb\x7f", 6);
  EXPECT_EQ(SocketAddress::FromSockaddr(raw, sizeof un).IpText(), "unix:/a?b?");
  EXPECT_EQ(SocketAddress::FromSockaddr(nullptr, 0).family(), AddressFamily::kNone);
  un.sun_family = AF_INET;
  EXPECT_EQ(SocketAddress::FromSockaddr(raw, 4).family(), AddressFamily::kNone);
}

TEST(SocketAddressTest, NoneAnyAndLoopback) {
  const SocketAddress none;
  EXPECT_EQ(none.IpText(), "0.0.0.0");
  EXPECT_FALSE(none.is_any());
  EXPECT_TRUE(SocketAddress::Any(AddressFamily::kIpv4, 1).is_any());
  EXPECT_TRUE(SocketAddress::Any(AddressFamily::kIpv6, 1).is_any());
  EXPECT_TRUE(SocketAddress::Loopback(AddressFamily::kIpv6, 1).is_loopback());
  EXPECT_TRUE(SocketAddress::Ipv4(0x7f010203, 0).is_loopback());
  EXPECT_FALSE(SocketAddress::Ipv4(0x80010203, 0).is_loopback());
  EXPECT_EQ(SocketAddress::Ipv4(0x01020304, 5).ipv4(), 0x01020304u);
  sockaddr_storage storage;
  none.ToSockaddr(storage);
  EXPECT_EQ(storage.ss_family, AF_UNSPEC);
}

TEST(SocketAddressTest, IsAKeyForMapsAndSets) {
  const SocketAddress a = SocketAddress::Ipv4(1, 1), b = SocketAddress::Ipv4(1, 2);
  const SocketAddress c = *SocketAddress::ParseUnix("/a"), d = *SocketAddress::ParseUnix("/b");
  absl::flat_hash_set<SocketAddress> hashed = {a, b, c, d, a, c};
  std::set<SocketAddress> ordered = {a, b, c, d, a, c};
  EXPECT_EQ(hashed.size(), 4u);
  EXPECT_EQ(ordered.size(), 4u);
  SocketAddress copy = d;
  copy = c;
  EXPECT_EQ(copy, c);
  EXPECT_EQ(d.unix_path(), "/b");
}

TEST(SocketAddressTest, OfSocketAndPeerOfRealSockets) {
  UniqueFd listener(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_TRUE(listener.valid());
  sockaddr_storage storage;
  const socklen_t length = SocketAddress::Loopback(AddressFamily::kIpv6, 0).ToSockaddr(storage);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&storage), length), 0);
  const SocketAddress bound = SocketAddress::OfSocket(listener.get());
  EXPECT_TRUE(bound.is_loopback());
  EXPECT_NE(bound.port(), 0);
  EXPECT_EQ(SocketAddress::OfPeer(listener.get()).family(), AddressFamily::kNone);
  EXPECT_EQ(SocketAddress::OfSocket(-1).family(), AddressFamily::kNone);
}

}  // namespace
}  // namespace sluice::sys
