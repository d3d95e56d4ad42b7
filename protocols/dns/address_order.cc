#include "protocols/dns/address_order.h"

#include <algorithm>

namespace sluice::dns {
namespace {

void Append(const sys::SocketAddress& address, std::vector<sys::SocketAddress>& list) {
  // Linear, since the list is short.
  if (list.size() >= kMaxAddresses || std::find(list.begin(), list.end(), address) != list.end()) return;
  list.push_back(address);
}

}  // namespace

std::vector<sys::SocketAddress> OrderAddresses(absl::Span<const sys::SocketAddress> ipv4,
                                               absl::Span<const sys::SocketAddress> ipv6, FamilyPreference family) {
  if (!WantsIpv4(family)) ipv4 = {};
  if (!WantsIpv6(family)) ipv6 = {};
  absl::Span<const sys::SocketAddress> first = ipv4;
  absl::Span<const sys::SocketAddress> second = ipv6;
  if (family == FamilyPreference::kPreferIpv6) std::swap(first, second);

  std::vector<sys::SocketAddress> list;
  for (size_t i = 0; i < std::max(first.size(), second.size()) && list.size() < kMaxAddresses; ++i) {
    if (i < first.size()) Append(first[i], list);
    if (i < second.size()) Append(second[i], list);
  }
  return list;
}

}  // namespace sluice::dns
