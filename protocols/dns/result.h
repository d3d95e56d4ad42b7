#ifndef SLUICE_PROTOCOLS_DNS_RESULT_H_
#define SLUICE_PROTOCOLS_DNS_RESULT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sys/net/socket_address.h"

namespace sluice::dns {

// How a look-up ended. A missing name, a name without addresses, a name server that fails and one that says nothing are
// different things: the first two are answers (cached, no other server asked), the others are not.
enum class Outcome : uint8_t {
  kOk,             // at least one address
  kNotFound,       // NXDOMAIN: the name does not exist
  kNoData,         // the name exists, but not with an address of a wanted family
  kServerFailure,  // every name server said SERVFAIL or cannot be reached, or there are too many pending look-ups
  kRefused,        // every name server refused to answer (REFUSED, NOTIMP)
  kMalformed,      // the answers could not be parsed
  kTimeout,        // no name server answered in time, or the caller's deadline passed
  kInvalidName,    // not a host name; nothing was asked
  kCancelled,      // the resolver was destroyed first
};

// "ok", "not_found", "no_data", ...: for logs and counters.
const char* OutcomeName(Outcome outcome);

// What a look-up of addresses gives. `status` is OK exactly if `outcome` is kOk exactly if `addresses` is not empty.
struct Result {
  Outcome outcome = Outcome::kOk;
  absl::Status status;
  // Port 0; no address twice; in the order in which they should be tried (address_order.h).
  std::vector<sys::SocketAddress> addresses;
  // No name server was asked for this look-up: a literal, a static record, the hosts file or a cached answer.
  bool from_cache = false;
  // For how long the answer may be kept; 0 = for this use only.
  int64_t ttl_seconds = 0;

  bool ok() const { return outcome == Outcome::kOk; }
};

// What a look-up of the names of an address (PTR) gives; the fields are as above.
struct NamesResult {
  Outcome outcome = Outcome::kOk;
  absl::Status status;
  std::vector<std::string> names;  // lower case, valid host names, at most 16
  int64_t ttl_seconds = 0;

  bool ok() const { return outcome == Outcome::kOk; }
};

// "cannot resolve NAME: no such name (NXDOMAIN)", under the canonical code that fits. REQUIRES: outcome is not kOk.
absl::Status OutcomeStatus(Outcome outcome, absl::string_view name, absl::string_view detail = "");
Result FailedResult(Outcome outcome, absl::string_view name, absl::string_view detail = "");

}  // namespace sluice::dns

#endif  // SLUICE_PROTOCOLS_DNS_RESULT_H_
