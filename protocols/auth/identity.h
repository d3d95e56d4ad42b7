#ifndef SLUICE_PROTOCOLS_AUTH_IDENTITY_H_
#define SLUICE_PROTOCOLS_AUTH_IDENTITY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "sys/net/socket_address.h"

namespace sluice::auth {

// What a client says of itself, as it came: nothing of it may be believed. Also what a parent with the user `*` is
// given, whatever our own rules made of it. Not for logs.
struct Claim {
  std::string user;
  std::string password;
};

// Why a client is believed to be who it is.
enum class Proof : uint8_t {
  kNone,        // nobody was asked: `none`, `iponly`
  kName,        // it has said a name, which was not checked: `useronly`
  kPassword,    // `strong`
  kClientName,  // `dnsname`
  kRadius,      // `radius`
};

// Who a client is, as far as its service's `auth` has found out.
//
// Thread-compatible.
struct Identity {
  std::string user;  // what rules go by; empty: none
  Proof proof = Proof::kNone;
  // What a RADIUS server has assigned: the address from which this client's connections go out.
  std::optional<sys::SocketAddress> outgoing_ipv4;
  std::optional<sys::SocketAddress> outgoing_ipv6;
};

}  // namespace sluice::auth

#endif  // SLUICE_PROTOCOLS_AUTH_IDENTITY_H_
