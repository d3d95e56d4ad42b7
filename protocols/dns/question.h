#ifndef SLUICE_PROTOCOLS_DNS_QUESTION_H_
#define SLUICE_PROTOCOLS_DNS_QUESTION_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "protocols/dns/address_order.h"
#include "protocols/dns/answer.h"
#include "protocols/dns/result.h"
#include "sys/thread/clock.h"

namespace sluice::dns {

// What a caller asks: the addresses of a name.
struct Query {
  std::string name;
  FamilyPreference family = FamilyPreference::kPreferIpv4;
  // When the callback must have been called (CLOCK_MONOTONIC); 0 = after the tries of all name servers.
  sys::MonotonicNanos deadline = 0;
};

// A query whose name was checked and is to be looked up.
struct Question {
  std::string name;       // lower case, without the trailing dot
  bool absolute = false;  // it had a trailing dot: the search list is not used
  FamilyPreference family = FamilyPreference::kPreferIpv4;
};

// The types of record that answer a question about `family`: one or two.
std::vector<RecordType> TypesOf(FamilyPreference family);

// The question, or the result when there is nothing to ask: an address literal (which the family preference does not
// concern) or a name that is none.
//
// Pure.
std::variant<Question, Result> PrepareQuery(absl::string_view name, FamilyPreference family);

// The one result of the answers for each family. Addresses win over whatever the other family said; without any,
// NXDOMAIN wins, then a failure (the name may have an address that could not be asked for), then NODATA.
//
// Pure.
Result CombineAnswers(absl::string_view name, FamilyPreference family, const Answer* ipv4, const Answer* ipv6);

// "4.3.2.1.in-addr.arpa", "...ip6.arpa" (RFC 1035 section 3.5, RFC 3596 section 2.5). REQUIRES: address.is_ip().
std::string ReverseName(const sys::SocketAddress& address);

}  // namespace sluice::dns

#endif  // SLUICE_PROTOCOLS_DNS_QUESTION_H_
