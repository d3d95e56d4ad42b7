#ifndef SLUICE_PROTOCOLS_AUTH_RADIUS_PACKET_H_
#define SLUICE_PROTOCOLS_AUTH_RADIUS_PACKET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "sys/net/socket_address.h"

namespace sluice::auth::radius {

// RADIUS messages (RFC 2865, RFC 2866; RFC 3162 and RFC 6911 for IPv6; RFC 2869 for what extends them).
//
// All of this is pure and bounded. Thread-compatible.

enum class Code : uint8_t {
  kAccessRequest = 1,
  kAccessAccept = 2,
  kAccessReject = 3,
  kAccountingRequest = 4,
  kAccountingResponse = 5,
  kAccessChallenge = 11,
};

enum class Attribute : uint8_t {
  kUserName = 1,
  kUserPassword = 2,
  kNasIpAddress = 4,
  kNasPort = 5,
  kServiceType = 6,
  kFramedIpAddress = 8,
  kLoginIpHost = 14,
  kLoginService = 15,
  kLoginTcpPort = 16,
  kReplyMessage = 18,
  kCalledStationId = 30,
  kCallingStationId = 31,
  kNasIdentifier = 32,
  kAcctStatusType = 40,
  kAcctInputOctets = 42,
  kAcctOutputOctets = 43,
  kAcctSessionId = 44,
  kAcctSessionTime = 46,
  kAcctTerminateCause = 49,
  kAcctInputGigawords = 52,
  kAcctOutputGigawords = 53,
  kEventTimestamp = 55,
  kNasPortType = 61,
  kMessageAuthenticator = 80,
  kAcctInterimInterval = 85,
  kNasIpv6Address = 95,
  kLoginIpv6Host = 98,
  kFramedIpv6Address = 168,
};

constexpr size_t kHeaderBytes = 20;
constexpr size_t kMostPacketBytes = 4096;    // RFC 2865 section 3
constexpr size_t kMostAttributeBytes = 253;  // of a value; the length is one byte and counts two more
constexpr size_t kMostPasswordBytes = 128;   // RFC 2865 section 5.2
using Authenticator = std::array<uint8_t, 16>;

// A request in the making.
//
//   Request request(Code::kAccessRequest, id, random);
//   request.Add(Attribute::kUserName, user);
//   request.AddPassword(password, secret);
//   std::string bytes = request.Seal(secret);
class Request {
 public:
  // `random`: 16 bytes that nobody can foresee; not used for kAccountingRequest, whose authenticator is a digest.
  Request(Code code, uint8_t id, const Authenticator& random) : code_(code), id_(id), authenticator_(random) {}

  // Cut at kMostAttributeBytes. What does not fit into the packet is left out.
  void Add(Attribute type, absl::string_view value);
  void AddNumber(Attribute type, uint32_t value);
  // The one of the two that the family calls for; nothing for an address that is none.
  void AddAddress(Attribute ipv4, Attribute ipv6, const sys::SocketAddress& address);
  // Hidden as RFC 2865 section 5.2 says. False, and nothing added, for one that is too long.
  [[nodiscard]] bool AddPassword(absl::string_view password, absl::string_view secret);

  // The packet. A Message-Authenticator comes first in an Access-Request, where it protects what follows best.
  std::string Seal(absl::string_view secret);

  uint8_t id() const { return id_; }
  // What the answer is checked against; final once sealed.
  const Authenticator& authenticator() const { return authenticator_; }

 private:
  const Code code_;
  const uint8_t id_;
  Authenticator authenticator_;
  std::string attributes_;
};

// An answer that has been found to be one to `request`.
struct Response {
  Code code = Code::kAccessReject;
  std::string reply_message;  // all of them, one behind the other
  std::optional<sys::SocketAddress> framed_ipv4;
  std::optional<sys::SocketAddress> framed_ipv6;
  uint32_t interim_seconds = 0;  // Acct-Interim-Interval; 0: it was not said
};

// Why bytes are no answer; a literal, for logs. Null: they are.
//
// What must hold: code, id and length; the Response Authenticator (RFC 2865 section 3); a Message-Authenticator that is
// right, without which an answer to an Access-Request is not believed (CVE-2024-3596: the MD5 of the former can be
// forged); attributes that are well-formed.
const char* ParseResponse(absl::string_view bytes, const Request& request, absl::string_view secret,
                          Response& response);

}  // namespace sluice::auth::radius

#endif  // SLUICE_PROTOCOLS_AUTH_RADIUS_PACKET_H_
