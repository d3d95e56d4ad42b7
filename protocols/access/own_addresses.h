#ifndef SLUICE_PROTOCOLS_ACCESS_OWN_ADDRESSES_H_
#define SLUICE_PROTOCOLS_ACCESS_OWN_ADDRESSES_H_

#include <vector>

#include "sys/net/socket_address.h"

namespace sluice::access {

// The addresses of this machine's interfaces, as of the moment when it was made. Immutable; thread-safe.
class OwnAddresses {
 public:
  OwnAddresses() = default;
  explicit OwnAddresses(std::vector<sys::SocketAddress> addresses);

  bool Contains(const sys::SocketAddress& address) const;
  friend bool operator==(const OwnAddresses& a, const OwnAddresses& b) { return a.sorted_ == b.sorted_; }

 private:
  std::vector<sys::SocketAddress> sorted_;  // port 0, no scope
};

// What `local` in a list of targets means: an address at which a connection ends on this machine or on its link,
// however it is spelled.
//
//   127.0.0.0/8, ::1             loopback
//   0.0.0.0/8, ::                unspecified: connect() to them ends here
//   169.254.0.0/16, fe80::/10    link-local
//   own                          the addresses of the interfaces
//
// and all of these behind IPv4-mapped (::ffff:0:0/96, which SocketAddress unmaps), IPv4-compatible (::/96) and NAT64
// (64:ff9b::/96 of RFC 6052, 64:ff9b:1::/48 of RFC 8215) addresses. Unix targets are local.
//
// `own` may be null. Pure; thread-safe.
bool IsLocal(const sys::SocketAddress& address, const OwnAddresses* own);

}  // namespace sluice::access

#endif  // SLUICE_PROTOCOLS_ACCESS_OWN_ADDRESSES_H_
