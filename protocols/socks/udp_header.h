#ifndef SLUICE_PROTOCOLS_SOCKS_UDP_HEADER_H_
#define SLUICE_PROTOCOLS_SOCKS_UDP_HEADER_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "sys/net/socket_address.h"

namespace sluice::socks {

// What stands before each datagram of an association (RFC 1928 section 7): RSV (2), FRAG, ATYP, address, port.
struct UdpHeader {
  enum class Kind : uint8_t {
    kAddress,
    kName,
    kShort,          // ends within the header
    kFragment,       // FRAG is not 0: optional in the RFC, and not supported
    kAddressType,    // unknown ATYP
    kNoDestination,  // port 0, 0.0.0.0, ::, or a name that is empty or has control characters
  };
  Kind kind = Kind::kShort;
  sys::SocketAddress address;  // kAddress, with the port; a name that is the text of an address is one
  absl::string_view name;      // kName: a view of the datagram, 1 to 255 bytes
  uint16_t port = 0;
  size_t bytes = 0;  // of the header; the rest, maybe nothing, is the payload
};

constexpr size_t kMostUdpHeaderBytes = 4 + 1 + 255 + 2;
// Of a header that names an address.
constexpr size_t kMostAddressHeaderBytes = 4 + 16 + 2;

UdpHeader ParseUdpHeader(absl::string_view datagram);

// The header of a datagram that came from `from` (an IP address); its length, 10 or 22.
size_t WriteUdpHeader(const sys::SocketAddress& from, char* out);

// All pure and thread-safe.

}  // namespace sluice::socks

#endif  // SLUICE_PROTOCOLS_SOCKS_UDP_HEADER_H_
