#ifndef SLUICE_SYS_NET_ADDRESS_RANGE_H_
#define SLUICE_SYS_NET_ADDRESS_RANGE_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sys/net/socket_address.h"

namespace sluice::sys {

// Addresses of one family that follow each other, both ends included. A value type of 33 bytes.
//
// Pure. Thread-compatible.
class AddressRange {
 public:
  // "192.0.2.1", "192.0.2.0/24", "192.0.2.1-192.0.2.9", and the same of IPv6. The bits of an address behind its prefix
  // do not count (10.0.0.1/8 is 10.0.0.0/8). IPv4-mapped forms are IPv4. InvalidArgument says what is wrong.
  static absl::StatusOr<AddressRange> Parse(absl::string_view text);

  // Whatever the port. False for what is no IP address.
  bool Contains(const SocketAddress& address) const;

  friend bool operator==(const AddressRange&, const AddressRange&) = default;

 private:
  using Bytes = std::array<uint8_t, 16>;  // network order; an IPv4 address has the first four

  static Bytes BytesOf(const SocketAddress& address);

  AddressFamily family_ = AddressFamily::kNone;
  Bytes first_{};
  Bytes last_{};
};

}  // namespace sluice::sys

#endif  // SLUICE_SYS_NET_ADDRESS_RANGE_H_
