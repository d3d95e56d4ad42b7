#ifndef SLUICE_PROTOCOLS_DNS_ANSWER_H_
#define SLUICE_PROTOCOLS_DNS_ANSWER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "protocols/dns/result.h"
#include "sys/net/socket_address.h"

namespace sluice::dns {

// Types of resource records that are looked up (RFC 1035 section 3.2.2, RFC 3596).
enum class RecordType : uint16_t { kA = 1, kPtr = 12, kAaaa = 28 };

// Positive answers are kept for their TTL, but not for more than 12 hours, 3proxy's limit: a record whose TTL says 68
// years must not outlive a change of the zone for ever.
constexpr int64_t kMaxTtlSeconds = 12 * 3600;
// Answers that say "no" are kept for what their SOA record says (RFC 2308 section 5), within these limits: the lower
// one keeps a client that asks in a loop from the name servers, the upper one lets a new name work soon.
constexpr int64_t kMinNegativeTtlSeconds = 5;
constexpr int64_t kMaxNegativeTtlSeconds = 30;

// What one DNS message says about one question. A value.
struct Answer {
  Outcome outcome = Outcome::kMalformed;
  std::vector<sys::SocketAddress> addresses;  // of kA or kAaaa; port 0; at most kMaxAddresses
  std::vector<std::string> names;             // of kPtr; normalised host names; at most 16
  // How long it may be cached: the least TTL of the chain of aliases and the records; 0 = not at all (also for every
  // outcome that is a failure).
  int64_t ttl_seconds = 0;
};

// What a response code says (RFC 1035 section 4.1.1): kOk, kNotFound, kRefused (also for "not implemented") or
// kServerFailure (everything else).
Outcome OutcomeOfRcode(uint16_t rcode);

// Reads the answer to "`name` (lower case, without the trailing dot), class IN, `type`" out of a whole DNS message.
//
// The message is hostile input. Only records that belong to the name asked for, or to the end of the chain of at most
// 16 aliases (CNAME) that starts there, are taken; everything else in it is skipped. A message that is not an answer to
// this question, is marked as truncated (the transport has asked again over TCP by then) or is damaged anywhere up to
// its authority section is kMalformed as a whole. The unspecified addresses (0.0.0.0, ::) and IPv4-mapped AAAA
// records are dropped: connecting to the first reaches this machine, the second would pass as the other family.
//
// Not ares_parse_*: those of c-ares 1.18 take records of any owner, do not bound the length of a name and do not give
// the SOA record of a negative answer.
//
// Pure; the cost is linear in the message.
Answer ParseAnswer(absl::Span<const uint8_t> message, absl::string_view name, RecordType type);

}  // namespace sluice::dns

#endif  // SLUICE_PROTOCOLS_DNS_ANSWER_H_
