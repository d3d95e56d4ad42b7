#include "protocols/access/own_addresses.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace sluice::access {
namespace {

using sys::AddressFamily;
using sys::SocketAddress;

SocketAddress Bare(const SocketAddress& address) {
  if (address.family() == AddressFamily::kIpv6) return SocketAddress::Ipv6(address.ipv6(), 0);
  return SocketAddress::Ipv4(address.ipv4(), 0);
}

bool IsLocalRange(uint32_t ipv4) {
  const uint32_t first = ipv4 >> 24;
  return first == 127 || first == 0 || ipv4 >> 16 == 0xa9fe;
}

bool BeginsWith(const std::array<uint8_t, 16>& bytes, std::initializer_list<uint8_t> prefix) {
  return std::equal(prefix.begin(), prefix.end(), bytes.begin());
}

uint32_t Ipv4At(const std::array<uint8_t, 16>& bytes, size_t a, size_t b, size_t c, size_t d) {
  return uint32_t{bytes[a]} << 24 | uint32_t{bytes[b]} << 16 | uint32_t{bytes[c]} << 8 | bytes[d];
}

bool IsLocalIpv4(uint32_t ipv4, const OwnAddresses* own) {
  return IsLocalRange(ipv4) || (own != nullptr && own->Contains(SocketAddress::Ipv4(ipv4, 0)));
}

// Where a translator's prefix ends is its own affair in this block: the IPv4 address lies in one of these places (RFC
// 6052 section 2.2), and the others are mostly 0. To take somebody else's address for ours only denies it.
bool IsLocalBehindLocalNat64(const std::array<uint8_t, 16>& bytes, const OwnAddresses* own) {
  const uint32_t places[] = {Ipv4At(bytes, 6, 7, 9, 10), Ipv4At(bytes, 7, 9, 10, 11), Ipv4At(bytes, 9, 10, 11, 12),
                             Ipv4At(bytes, 12, 13, 14, 15)};
  bool all_zero = true;
  for (const uint32_t ipv4 : places) {
    all_zero = all_zero && ipv4 == 0;
    if (ipv4 >> 24 != 0 && IsLocalIpv4(ipv4, own)) return true;
  }
  return all_zero;
}

}  // namespace

OwnAddresses::OwnAddresses(std::vector<SocketAddress> addresses) {
  for (const SocketAddress& address : addresses) {
    if (address.is_ip()) sorted_.push_back(Bare(address));
  }
  std::sort(sorted_.begin(), sorted_.end());
}

bool OwnAddresses::Contains(const SocketAddress& address) const {
  return address.is_ip() && std::binary_search(sorted_.begin(), sorted_.end(), Bare(address));
}

bool IsLocal(const SocketAddress& address, const OwnAddresses* own) {
  if (address.is_unix()) return true;
  if (!address.is_ip()) return false;
  if (address.family() == AddressFamily::kIpv4) return IsLocalIpv4(address.ipv4(), own);
  if (own != nullptr && own->Contains(address)) return true;
  const std::array<uint8_t, 16>& bytes = address.ipv6();
  if (bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80) return true;  // fe80::/10
  // ::1 and :: are the IPv4-compatible forms of 0.0.0.1 and 0.0.0.0.
  if (BeginsWith(bytes, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}) ||
      BeginsWith(bytes, {0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0})) {
    return IsLocalIpv4(Ipv4At(bytes, 12, 13, 14, 15), own);
  }
  return BeginsWith(bytes, {0, 0x64, 0xff, 0x9b, 0, 1}) && IsLocalBehindLocalNat64(bytes, own);
}

}  // namespace sluice::access
