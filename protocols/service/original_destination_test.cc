#include "protocols/service/original_destination.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <optional>
#include <string>

#include "sys/base/unique_fd.h"
#include "sys/net/redirected.h"

namespace sluice::service {
namespace {

using sys::SocketAddress;

std::optional<SocketAddress> At(const std::string& ip, uint16_t port) {
  if (ip.empty()) return std::nullopt;
  return *SocketAddress::ParseIp(ip, port);
}

TEST(OriginalDestinationTest, Choice) {
  const struct {
    const char* what;
    std::optional<SocketAddress> local;
    std::optional<SocketAddress> tracked;
    bool local_is_ours;
    std::optional<SocketAddress> destination;
  } kCases[] = {
      {"TPROXY", At("192.0.2.1", 80), {}, false, At("192.0.2.1", 80)},
      {"TPROXY, to an address of ours", At("10.0.0.1", 80), {}, true, At("10.0.0.1", 80)},
      {"TPROXY, tracked", At("192.0.2.1", 80), At("192.0.2.1", 80), false, At("192.0.2.1", 80)},
      {"TPROXY, tracked as an older connection", At("192.0.2.1", 80), At("10.0.0.9", 5000), false, At("192.0.2.1", 80)},
      {"TPROXY, to our port elsewhere", At("192.0.2.1", 3000), {}, false, At("192.0.2.1", 3000)},
      {"REDIRECT", At("10.0.0.1", 3000), At("192.0.2.1", 80), true, At("192.0.2.1", 80)},
      {"REDIRECT, to our port elsewhere", At("10.0.0.1", 3000), At("192.0.2.1", 3000), true, At("192.0.2.1", 3000)},
      {"directly", At("10.0.0.1", 3000), {}, true, {}},
      {"directly, tracked", At("10.0.0.1", 3000), At("10.0.0.1", 3000), true, {}},
      {"IPv6, REDIRECT", At("fd00::1", 3000), At("2001:db8::1", 443), true, At("2001:db8::1", 443)},
      {"IPv6, directly", At("::1", 3000), At("::1", 3000), true, {}},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(ChooseDestination(*c.local, c.tracked, 3000, [&](const SocketAddress&) { return c.local_is_ours; }),
              c.destination)
        << c.what;
  }
  EXPECT_EQ(ChooseDestination(SocketAddress(), std::nullopt, 3000, [](const SocketAddress&) { return false; }),
            std::nullopt);
}

TEST(OriginalDestinationTest, DirectConnectionsHaveNone) {
  for (const sys::AddressFamily family : {sys::AddressFamily::kIpv4, sys::AddressFamily::kIpv6}) {
    const int domain = family == sys::AddressFamily::kIpv4 ? AF_INET : AF_INET6;
    sys::UniqueFd listener(socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_storage storage;
    socklen_t length = SocketAddress::Loopback(family, 0).ToSockaddr(storage);
    ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&storage), length), 0);
    ASSERT_EQ(listen(listener.get(), 1), 0);
    const SocketAddress address = SocketAddress::OfSocket(listener.get());
    length = address.ToSockaddr(storage);
    sys::UniqueFd client(socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&storage), length), 0);
    sys::UniqueFd accepted(accept(listener.get(), nullptr, nullptr));
    EXPECT_EQ(OriginalDestination(accepted.get(), address.port()), std::nullopt);
    const std::optional<SocketAddress> tracked = sys::RedirectedFrom(accepted.get());
    EXPECT_TRUE(!tracked.has_value() || *tracked == address);
  }
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  sys::UniqueFd one(pair[0]), two(pair[1]);
  EXPECT_EQ(OriginalDestination(one.get(), 0), std::nullopt);
  EXPECT_EQ(sys::RedirectedFrom(one.get()), std::nullopt);
}

}  // namespace
}  // namespace sluice::service
