#ifndef SLUICE_PROTOCOLS_UPSTREAM_ENDPOINT_H_
#define SLUICE_PROTOCOLS_UPSTREAM_ENDPOINT_H_

#include <cstdint>
#include <string>

#include "sys/net/socket_address.h"

namespace sluice::upstream {

// Where a request is to arrive, by name, by address, or both: a name whose address is known. A unix path is an address.
//
// Thread-compatible.
struct Endpoint {
  std::string host;            // empty: only the address is known. The text of an address is one
  sys::SocketAddress address;  // kNone: only the name is. Its port is `port`
  uint16_t port = 0;

  bool has_address() const { return address.family() != sys::AddressFamily::kNone; }
  // "name:80", "192.0.2.1:80", "[2001:db8::1]:80", "unix:/path": the name where there is one.
  std::string ToString() const;
  // The same with the address where there is one.
  std::string AddressText() const;
};

}  // namespace sluice::upstream

#endif  // SLUICE_PROTOCOLS_UPSTREAM_ENDPOINT_H_
