#ifndef SLUICE_PROTOCOLS_HTTP_AUTHORITY_H_
#define SLUICE_PROTOCOLS_HTTP_AUTHORITY_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace sluice::http {

// Who is to be reached: the "host:port" of a CONNECT, of an http URL, of a Host field (RFC 3986 section 3.2, without
// the userinfo that RFC 9110 section 4.2.4 takes out of it).
struct Authority {
  absl::string_view
      host;  // a name, an IPv4 address, or an IPv6 address without its brackets; a view of what was parsed
  uint16_t port = 0;
  bool ipv6 = false;

  // "name", "name:81", "[::1]:81": without the port where it is `default_port` (0: always with it).
  std::string ToString(uint16_t default_port) const;
};

// `default_port` stands in for a missing ":port"; 0: the port must be there. False for everything else than a host of
// letters, digits, '-', '.', '_', '~' (what names and IPv4 addresses are made of, and nothing that another reader could
// take for the end of the host), or an IPv6 address in brackets without a zone, and a port of 1 to 65535 in at most
// five digits.
//
// Pure. Thread-safe.
bool ParseAuthority(absl::string_view text, uint16_t default_port, Authority& result);

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_AUTHORITY_H_
