#include "protocols/socks/udp_header.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/status/statusor.h"

namespace sluice::socks {
namespace {

using Kind = UdpHeader::Kind;

constexpr size_t kFixedBytes = 4;
constexpr size_t kPortBytes = 2;

uint8_t ByteAt(absl::string_view bytes, size_t at) { return static_cast<uint8_t>(bytes[at]); }

uint16_t PortAt(absl::string_view bytes, size_t at) {
  return static_cast<uint16_t>(ByteAt(bytes, at) << 8 | ByteAt(bytes, at + 1));
}

UdpHeader Fault(Kind kind) {
  UdpHeader header;
  header.kind = kind;
  return header;
}

void ParseName(absl::string_view name, UdpHeader& header) {
  header.name = name;
  header.kind = Kind::kName;
  const bool plain =
      std::none_of(name.begin(), name.end(), [](char c) { return static_cast<uint8_t>(c) < 0x20 || c == 0x7f; });
  if (name.empty() || !plain || header.port == 0) {
    header.kind = Kind::kNoDestination;
    return;
  }
  // One with an interface is left to the resolver, since that must be looked up.
  if (name.find('%') != absl::string_view::npos) return;
  absl::StatusOr<sys::SocketAddress> literal = sys::SocketAddress::ParseIp(name, header.port);
  if (!literal.ok()) return;
  header.address = *std::move(literal);
  header.kind = header.address.is_any() ? Kind::kNoDestination : Kind::kAddress;
}

}  // namespace

UdpHeader ParseUdpHeader(absl::string_view datagram) {
  if (datagram.size() < kFixedBytes + 1) return Fault(Kind::kShort);
  if (datagram[2] != 0) return Fault(Kind::kFragment);
  size_t address_bytes = 0;
  size_t at = kFixedBytes;
  const uint8_t type = ByteAt(datagram, 3);
  switch (type) {
    case 1:
      address_bytes = 4;
      break;
    case 3:
      address_bytes = ByteAt(datagram, at++);
      break;
    case 4:
      address_bytes = 16;
      break;
    default:
      return Fault(Kind::kAddressType);
  }
  UdpHeader header;
  header.bytes = at + address_bytes + kPortBytes;
  if (datagram.size() < header.bytes) return Fault(Kind::kShort);
  header.port = PortAt(datagram, at + address_bytes);
  if (type == 3) {
    ParseName(datagram.substr(at, address_bytes), header);
    return header;
  }
  if (type == 1) {
    uint32_t address = 0;
    for (size_t i = 0; i < 4; ++i) address = address << 8 | ByteAt(datagram, at + i);
    header.address = sys::SocketAddress::Ipv4(address, header.port);
  } else {
    std::array<uint8_t, 16> address;
    std::memcpy(address.data(), datagram.data() + at, address.size());
    header.address = sys::SocketAddress::Ipv6(address, header.port);
  }
  header.kind = header.port == 0 || header.address.is_any() ? Kind::kNoDestination : Kind::kAddress;
  return header;
}

size_t WriteUdpHeader(const sys::SocketAddress& from, char* out) {
  char* at = out;
  std::memset(at, 0, 3);
  at += 3;
  if (from.family() == sys::AddressFamily::kIpv6) {
    *at++ = 4;
    std::memcpy(at, from.ipv6().data(), 16);
    at += 16;
  } else {
    *at++ = 1;
    const uint32_t address = from.family() == sys::AddressFamily::kIpv4 ? from.ipv4() : 0;
    for (int shift = 24; shift >= 0; shift -= 8) *at++ = static_cast<char>(address >> shift & 0xff);
  }
  *at++ = static_cast<char>(from.port() >> 8);
  *at++ = static_cast<char>(from.port() & 0xff);
  return static_cast<size_t>(at - out);
}

}  // namespace sluice::socks
