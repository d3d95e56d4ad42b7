#ifndef SLUICE_PROTOCOLS_SOCKS_REPLY_H_
#define SLUICE_PROTOCOLS_SOCKS_REPLY_H_

#include <cstdint>
#include <string>

#include "sys/net/socket_address.h"

namespace sluice::socks {

// REP of RFC 1928 section 6.
enum class ReplyCode : uint8_t {
  kSucceeded = 0,
  kGeneralFailure = 1,
  kNotAllowed = 2,
  kNetworkUnreachable = 3,
  kHostUnreachable = 4,
  kConnectionRefused = 5,
  kTtlExpired = 6,
  kCommandNotSupported = 7,
  kAddressTypeNotSupported = 8,
};

// What a client is told when connecting failed with this errno (positive). What never answered is 6: nothing else in
// the protocol tells a time limit from an ICMP message.
ReplyCode ReplyForErrno(int error);

// The reply to a request. `version` 5: 10 bytes, 22 when `bound` is an IPv6 address (RFC 1928 section 6). `version` 4:
// 8 bytes, 90 or 91 (the CONNECT protocol's 92 and 93 concern identd, which nobody is asked here); an IPv6 address
// cannot be said in them and becomes 0.0.0.0. What is no IP address at all (kNone, a unix path) is 0.0.0.0:0.
//
// All pure and thread-safe.
std::string EncodeReply(uint8_t version, ReplyCode code, const sys::SocketAddress& bound = {});

// ATYP, address and port as requests, replies and UDP headers have them; 7 bytes or 19.
void AppendAddress(const sys::SocketAddress& address, std::string& out);

}  // namespace sluice::socks

#endif  // SLUICE_PROTOCOLS_SOCKS_REPLY_H_
