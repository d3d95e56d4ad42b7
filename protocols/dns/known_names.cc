#include "protocols/dns/known_names.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace sluice::dns {
namespace {

// Hosts and static records have no TTL of their own; whoever keeps the result sees a change of the file this soon.
constexpr int64_t kLocalTtlSeconds = 10;

bool IsNameOrBelow(absl::string_view name, absl::string_view domain) {
  return absl::ConsumeSuffix(&name, domain) && (name.empty() || absl::EndsWith(name, "."));
}

Result LocalResult(const Question& question, const HostAddresses& host) {
  Result result;
  result.addresses = OrderAddresses(host.ipv4, host.ipv6, question.family);
  if (host.never_resolves) result = FailedResult(Outcome::kNotFound, question.name, "the name is set never to resolve");
  if (!host.never_resolves && result.addresses.empty()) result = FailedResult(Outcome::kNoData, question.name);
  result.from_cache = true;
  result.ttl_seconds = kLocalTtlSeconds;
  return result;
}

HostAddresses Both(uint32_t ipv4, uint8_t last_of_ipv6) {
  HostAddresses host;
  host.ipv4.push_back(sys::SocketAddress::Ipv4(ipv4, 0));
  std::array<uint8_t, 16> bytes{};
  bytes[15] = last_of_ipv6;
  host.ipv6.push_back(sys::SocketAddress::Ipv6(bytes, 0));
  return host;
}

}  // namespace

KnownNames::KnownNames(const Options& options)
    : clock_(options.clock != nullptr ? *options.clock : sys::Clock::System()),
      fake_resolve_(options.fake_resolve),
      ipv4_(options.cache_ipv4_entries),
      ipv6_(options.cache_ipv6_entries) {
  for (const StaticRecord& record : options.static_records) static_records_.Add(record.name, record.address);
}

std::optional<Result> KnownNames::Find(const Question& question) {
  if (const HostAddresses* host = static_records_.Find(question.name)) return LocalResult(question, *host);
  if (fake_resolve_) return LocalResult(question, Both(0x7f000002, 2));
  sys::MutexLock lock(mutex_);
  if (std::optional<Result> local = FindLocal(question)) return local;
  return FindInCaches(question);
}

std::optional<Result> KnownNames::FindLocal(const Question& question) {
  if (const HostAddresses* host = hosts_.Find(question.name)) {
    Result result = LocalResult(question, *host);
    if (result.outcome != Outcome::kNoData) return result;
  }
  if (IsNameOrBelow(question.name, "localhost")) return LocalResult(question, Both(INADDR_LOOPBACK, 1));
  if (IsNameOrBelow(question.name, "invalid")) {
    Result result = FailedResult(Outcome::kNotFound, question.name, "names below \"invalid\" do not exist (RFC 6761)");
    result.from_cache = true;
    return result;
  }
  return std::nullopt;
}

std::optional<Result> KnownNames::FindInCaches(const Question& question) {
  std::optional<Result> last;
  for (const std::string& candidate : SearchCandidates(question.name, question.absolute, search_)) {
    std::optional<Answer> ipv4, ipv6;
    if (WantsIpv4(question.family) && !(ipv4 = FindCachedLocked(candidate, RecordType::kA))) return std::nullopt;
    if (WantsIpv6(question.family) && !(ipv6 = FindCachedLocked(candidate, RecordType::kAaaa))) return std::nullopt;
    Result result = CombineAnswers(question.name, question.family, ipv4 ? &*ipv4 : nullptr, ipv6 ? &*ipv6 : nullptr);
    result.from_cache = true;
    const bool goes_on = result.outcome == Outcome::kNotFound || result.outcome == Outcome::kNoData;
    if (!goes_on) return result;
    // That one name of the list exists says more than that another does not.
    if (!last || result.outcome == Outcome::kNoData) last = std::move(result);
  }
  return last;
}

std::optional<Answer> KnownNames::FindCached(absl::string_view name, RecordType type) {
  sys::MutexLock lock(mutex_);
  return FindCachedLocked(name, type);
}

std::optional<Answer> KnownNames::FindCachedLocked(absl::string_view name, RecordType type) {
  if (type == RecordType::kPtr) return std::nullopt;
  const sys::MonotonicNanos now = clock_.Now();
  const CachedAnswer* cached = (type == RecordType::kA ? ipv4_ : ipv6_).Find(name, now);
  if (cached == nullptr) return std::nullopt;
  Answer answer;
  answer.outcome = cached->outcome;
  answer.addresses = cached->addresses;
  answer.ttl_seconds = (cached->expires - now) / sys::kNanosPerSecond;
  return answer;
}

void KnownNames::Store(absl::string_view name, RecordType type, const Answer& answer) {
  if (type == RecordType::kPtr) return;
  const bool answered =
      answer.outcome == Outcome::kOk || answer.outcome == Outcome::kNotFound || answer.outcome == Outcome::kNoData;
  const int64_t ttl_seconds = answered ? answer.ttl_seconds : kFailureTtlSeconds;
  const sys::MonotonicNanos now = clock_.Now();
  CachedAnswer cached{answer.outcome, answer.addresses, now + ttl_seconds * sys::kNanosPerSecond};
  sys::MutexLock lock(mutex_);
  (type == RecordType::kA ? ipv4_ : ipv6_).Insert(name, std::move(cached), now);
}

void KnownNames::SetHosts(HostsTable hosts) {
  // The old table is destroyed after the lock was let go: a large one takes milliseconds.
  sys::MutexLock lock(mutex_);
  std::swap(hosts_, hosts);
}

void KnownNames::SetSearch(SearchRules search) {
  sys::MutexLock lock(mutex_);
  search_ = std::move(search);
}

SearchRules KnownNames::search() {
  sys::MutexLock lock(mutex_);
  return search_;
}

}  // namespace sluice::dns
