#ifndef SLUICE_PROTOCOLS_DNS_HOST_NAME_H_
#define SLUICE_PROTOCOLS_DNS_HOST_NAME_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sys/net/socket_address.h"

namespace sluice::dns {

// Longest host name in its text form without the trailing dot, and longest label (RFC 1035 section 2.3.4: 255 bytes on
// the wire, 63 a label).
constexpr size_t kMaxHostNameBytes = 253;
constexpr size_t kMaxLabelBytes = 63;

// The address, if `name` is an IP address literal as SocketAddress::ParseIp takes it (port 0). Unlike that, it says
// "no" to an ordinary host name without an allocation: every look-up asks this first.
//
// Pure.
std::optional<sys::SocketAddress> AddressLiteral(absl::string_view name);

// OK if `name` may be looked up: an address literal, or labels of letters, digits,
// '-' and '_' (what the C library accepts as a host name) with an optional dot at the end.
//
// Everything else is InvalidArgument, with what is wrong. In particular:
//  * Spellings of an IPv4 address beyond the dotted quad that inet_aton() would take ("127.1", "0x7f.1", "2130706433",
//    "010.0.0.1"), and all names whose last label is a number: no such top-level domain exists, and a rule on
//    127.0.0.1 must not be passed by another spelling of it.
//  * Bytes outside ASCII: internationalised names travel as "xn--..." (RFC 5891).
//
// Pure.
absl::Status ValidateHostName(absl::string_view name);

// The one spelling under which a name is compared and cached: lower case, no trailing dot. Checked as above.
absl::StatusOr<std::string> NormalizeHostName(absl::string_view name);

}  // namespace sluice::dns

#endif  // SLUICE_PROTOCOLS_DNS_HOST_NAME_H_
