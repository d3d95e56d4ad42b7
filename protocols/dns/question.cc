#include "protocols/dns/question.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "protocols/dns/host_name.h"

namespace sluice::dns {
namespace {

bool IsFailure(Outcome outcome) {
  return outcome != Outcome::kOk && outcome != Outcome::kNotFound && outcome != Outcome::kNoData;
}

Outcome CombineOutcomes(Outcome a, Outcome b) {
  if (a == Outcome::kNotFound || b == Outcome::kNotFound) return Outcome::kNotFound;
  if (IsFailure(a)) return a;
  if (IsFailure(b)) return b;
  return Outcome::kNoData;
}

}  // namespace

std::vector<RecordType> TypesOf(FamilyPreference family) {
  switch (family) {
    case FamilyPreference::kIpv4Only:
      return {RecordType::kA};
    case FamilyPreference::kIpv6Only:
      return {RecordType::kAaaa};
    case FamilyPreference::kPreferIpv4:
      return {RecordType::kA, RecordType::kAaaa};
    case FamilyPreference::kPreferIpv6:
      return {RecordType::kAaaa, RecordType::kA};
  }
  return {RecordType::kA, RecordType::kAaaa};
}

std::variant<Question, Result> PrepareQuery(absl::string_view name, FamilyPreference family) {
  if (const std::optional<sys::SocketAddress> literal = AddressLiteral(name)) {
    Result result;
    result.addresses.push_back(*literal);
    result.from_cache = true;
    result.ttl_seconds = kMaxTtlSeconds;
    return result;
  }
  absl::StatusOr<std::string> normal = NormalizeHostName(name);
  if (!normal.ok()) {
    Result result;
    result.outcome = Outcome::kInvalidName;
    result.status = normal.status();
    result.from_cache = true;
    return result;
  }
  return Question{*std::move(normal), absl::EndsWith(name, "."), family};
}

Result CombineAnswers(absl::string_view name, FamilyPreference family, const Answer* ipv4, const Answer* ipv6) {
  Result result;
  static const Answer& nothing = *new Answer();
  result.addresses = OrderAddresses(ipv4 != nullptr ? ipv4->addresses : nothing.addresses,
                                    ipv6 != nullptr ? ipv6->addresses : nothing.addresses, family);
  int64_t ttl_seconds = kMaxTtlSeconds;
  for (const Answer* answer : {ipv4, ipv6}) {
    if (answer == nullptr || (!result.addresses.empty() && answer->addresses.empty())) continue;
    ttl_seconds = std::min(ttl_seconds, answer->ttl_seconds);
  }
  result.ttl_seconds = ttl_seconds;
  if (!result.addresses.empty()) return result;

  const Outcome first = ipv4 != nullptr ? ipv4->outcome : Outcome::kNoData;
  const Outcome second = ipv6 != nullptr ? ipv6->outcome : Outcome::kNoData;
  Result failed = FailedResult(CombineOutcomes(first, second), name);
  failed.ttl_seconds = ttl_seconds;
  return failed;
}

std::string ReverseName(const sys::SocketAddress& address) {
  if (address.family() == sys::AddressFamily::kIpv4) {
    const uint32_t ip = address.ipv4();
    return absl::StrCat(ip & 0xff, ".", ip >> 8 & 0xff, ".", ip >> 16 & 0xff, ".", ip >> 24, ".in-addr.arpa");
  }
  std::string name;
  const std::array<uint8_t, 16>& bytes = address.ipv6();
  for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte) {
    absl::StrAppend(&name, absl::Hex(*byte & 0xf), ".", absl::Hex(*byte >> 4), ".");
  }
  return absl::StrCat(name, "ip6.arpa");
}

}  // namespace sluice::dns
