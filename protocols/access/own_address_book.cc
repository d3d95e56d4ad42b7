#include "protocols/access/own_address_book.h"

#include <ifaddrs.h>
#include <netinet/in.h>

#include <utility>
#include <vector>

namespace sluice::access {

void OwnAddressBook::Refresh() {
  ifaddrs* interfaces = nullptr;
  if (getifaddrs(&interfaces) != 0) return;
  std::vector<sys::SocketAddress> found;
  for (const ifaddrs* i = interfaces; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr) continue;
    if (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6) continue;
    const socklen_t length = i->ifa_addr->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    found.push_back(sys::SocketAddress::FromSockaddr(i->ifa_addr, length));
  }
  freeifaddrs(interfaces);
  auto addresses = std::make_shared<const OwnAddresses>(std::move(found));
  sys::MutexLock lock(mutex_);
  addresses_ = std::move(addresses);
}

std::shared_ptr<const OwnAddresses> OwnAddressBook::Get() const {
  sys::MutexLock lock(mutex_);
  return addresses_;
}

}  // namespace sluice::access
