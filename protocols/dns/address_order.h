#ifndef SLUICE_PROTOCOLS_DNS_ADDRESS_ORDER_H_
#define SLUICE_PROTOCOLS_DNS_ADDRESS_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "sys/net/socket_address.h"

namespace sluice::dns {

// Which address families are looked up, and which goes first: the options -4, -6, -46 and -64.
enum class FamilyPreference : uint8_t {
  kIpv4Only,    // -4
  kIpv6Only,    // -6
  kPreferIpv4,  // -46, the default
  kPreferIpv6,  // -64
};

constexpr bool WantsIpv4(FamilyPreference family) { return family != FamilyPreference::kIpv6Only; }
constexpr bool WantsIpv6(FamilyPreference family) { return family != FamilyPreference::kIpv4Only; }

// The most addresses of one look-up. A name server can send 4000 in one answer; a client that waits for a connection
// gives up long before that many have been tried.
constexpr size_t kMaxAddresses = 64;

// One list of both families, in the order of RFC 8305 section 4: the first address of the preferred family, the first
// of the other, the second of the preferred, and so on; what is left of the longer one comes last. Within a family the
// order is kept. Families that are not wanted and repeated addresses are left out; at most kMaxAddresses are returned.
//
// Pure.
std::vector<sys::SocketAddress> OrderAddresses(absl::Span<const sys::SocketAddress> ipv4,
                                               absl::Span<const sys::SocketAddress> ipv6, FamilyPreference family);

}  // namespace sluice::dns

#endif  // SLUICE_PROTOCOLS_DNS_ADDRESS_ORDER_H_
