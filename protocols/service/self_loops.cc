#include "protocols/service/self_loops.h"

#include <ifaddrs.h>

#include <algorithm>

namespace sluice::service {
namespace {

bool Reaches(const sys::SocketAddress& target, const sys::SocketAddress& listener) {
  if (target == listener) return true;
  if (!target.is_ip() || !listener.is_ip() || target.port() != listener.port()) return false;
  // Connecting to 0.0.0.0 or :: means this machine (ip(7)).
  if (target.is_any()) return listener.is_any() || listener.is_loopback();
  return listener.is_any() && listener.family() == target.family() && IsOfThisMachine(target);
}

}  // namespace

bool IsWhereItCameIn(const sys::SocketAddress& target, uint16_t port, int client) {
  // A connection that TPROXY has given us came in at the address that it is for, which is somebody else's.
  return target.port() == port && sys::SocketAddress::OfSocket(client) == target && IsOfThisMachine(target);
}

bool IsOfThisMachine(const sys::SocketAddress& address) {
  if (address.is_loopback() || address.is_any()) return true;
  ifaddrs* interfaces = nullptr;
  if (getifaddrs(&interfaces) != 0) return false;
  bool found = false;
  for (const ifaddrs* i = interfaces; i != nullptr && !found; i = i->ifa_next) {
    if (i->ifa_addr == nullptr) continue;
    const socklen_t length = i->ifa_addr->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    sys::SocketAddress own = sys::SocketAddress::FromSockaddr(i->ifa_addr, length);
    own.set_port(address.port());
    found = own == address;
  }
  freeifaddrs(interfaces);
  return found;
}

bool ReachesAny(const sys::SocketAddress& target, const std::vector<sys::SocketAddress>& listeners) {
  return std::any_of(listeners.begin(), listeners.end(),
                     [&](const sys::SocketAddress& listener) { return Reaches(target, listener); });
}

std::vector<bool> OnACycle(const std::vector<int>& next) {
  std::vector<bool> result(next.size(), false);
  for (size_t start = 0; start < next.size(); ++start) {
    // A walk of as many steps as there are services meets every cycle it can get to; clients of what merely leads into
    // one are lost as well.
    int at = static_cast<int>(start);
    for (size_t steps = 0; steps < next.size() && at >= 0; ++steps) at = next[at];
    result[start] = at >= 0;
  }
  return result;
}

std::vector<bool> FindSelfLoops(const Snapshot& snapshot, const std::vector<sys::SocketAddress>& bound) {
  std::vector<int> next;
  for (const auto& service : snapshot.services) {
    const sys::SocketAddress& target = service->target.address;
    int reached = -1;
    // Where the socket says the destination, the configured one is not used.
    const size_t count = service->transparent ? 0 : bound.size();
    for (size_t i = 0; i < count && reached < 0; ++i) {
      const bool same_kind = IsDatagram(snapshot.services[i]->type) == IsDatagram(service->type);
      if (target.family() != sys::AddressFamily::kNone && same_kind && Reaches(target, bound[i])) {
        reached = static_cast<int>(i);
      }
    }
    next.push_back(reached);
  }
  return OnACycle(next);
}

}  // namespace sluice::service
