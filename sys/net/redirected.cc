#include "sys/net/redirected.h"

#include <netinet/in.h>
#include <sys/socket.h>

namespace sluice::sys {
namespace {

// Both have this number; <linux/netfilter_ipv6/ip6_tables.h> does not go with C++.
constexpr int kOriginalDestination = 80;

}  // namespace

std::optional<SocketAddress> RedirectedFrom(int fd) {
  sockaddr_storage storage;
  const SocketAddress local = SocketAddress::OfSocket(fd);
  if (!local.is_ip()) return std::nullopt;
  const bool six = local.family() == AddressFamily::kIpv6;
  socklen_t length = six ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (getsockopt(fd, six ? SOL_IPV6 : SOL_IP, kOriginalDestination, &storage, &length) != 0) return std::nullopt;
  SocketAddress destination = SocketAddress::FromSockaddr(reinterpret_cast<const sockaddr*>(&storage), length);
  if (!destination.is_ip() || destination.port() == 0) return std::nullopt;
  return destination;
}

}  // namespace sluice::sys
