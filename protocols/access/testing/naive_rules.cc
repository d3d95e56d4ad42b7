#include "protocols/access/testing/naive_rules.h"

#include <array>
#include <string>

#include "absl/numeric/int128.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace sluice::access {
namespace {

using sys::AddressFamily;
using sys::SocketAddress;

constexpr const char* kUsers[] = {"alice", "bob", "Alice", "-", "eve", "dave"};
constexpr const char* kHosts[] = {"example.com",
                                  "www.example.com",
                                  "badexample.com",
                                  "WWW.Example.COM",
                                  "example.com.",
                                  "a.b.c.example.com",
                                  "example.org",
                                  "internal",
                                  "10.0.0.5",
                                  "127.0.0.1",
                                  "::1",
                                  "xample.co",
                                  "e"};
constexpr const char* kTexts[] = {"example.com", ".example.com",    "www.", "example", "e", "com", "10.", "1",
                                  "internal",    "www.example.com", "xamp", "."};

absl::uint128 NumberOf(const SocketAddress& address) {
  absl::uint128 number = 0;
  if (address.family() == AddressFamily::kIpv4) return address.ipv4();
  for (const uint8_t byte : address.ipv6()) number = number * 256 + byte;
  return number;
}

bool Lies(const SocketAddress& address, const AddressRange& range) {
  if (!address.is_ip() || address.family() != range.first.family()) return false;
  return NumberOf(range.first) <= NumberOf(address) && NumberOf(address) <= NumberOf(range.last);
}

bool LiesInAny(const SocketAddress& address, const std::vector<AddressRange>& ranges) {
  for (const AddressRange& range : ranges) {
    if (Lies(address, range)) return true;
  }
  return false;
}

std::string HostOf(const RequestFacts& facts) {
  std::string host(facts.host);
  if (host.empty() && facts.target.family() != AddressFamily::kNone) host = facts.target.IpText();
  host = absl::AsciiStrToLower(host);
  while (absl::EndsWith(host, ".")) host.pop_back();
  return host;
}

bool Fits(const NamePattern& pattern, const std::string& host) {
  switch (pattern.kind) {
    case NamePattern::Kind::kExact:
      return host == pattern.text;
    case NamePattern::Kind::kPrefix:
      return absl::StartsWith(host, pattern.text);
    case NamePattern::Kind::kSuffix:
      return host.size() > pattern.text.size() && absl::EndsWith(host, pattern.text);
    case NamePattern::Kind::kSubstring:
      return absl::StrContains(host, pattern.text);
  }
  return false;
}

bool AnyNameFits(const Conditions& c, const RequestFacts& facts) {
  for (const NamePattern& pattern : c.target_names) {
    if (Fits(pattern, HostOf(facts))) return true;
  }
  return false;
}

bool HasName(const RequestFacts& facts) { return !facts.host.empty() || facts.target.family() != AddressFamily::kNone; }

bool FitsAddress(const Conditions& c, const RequestFacts& facts) {
  return LiesInAny(facts.target, c.target_ranges) || (c.target_local && IsLocal(facts.target, facts.own));
}

// Everything but the target and its port.
bool FitsWhoAndWhen(const Rule& rule, const RequestFacts& facts) {
  const Conditions& c = rule.conditions;
  if (!c.users.empty()) {
    bool found = false;
    for (const std::string& user : c.users) found |= absl::string_view(user) == (facts.user.empty() ? "-" : facts.user);
    if (!found) return false;
  }
  if (!c.sources.empty() && !LiesInAny(facts.client, c.sources)) return false;
  if (c.operations != 0 && (c.operations & SetOf(facts.operation)) == 0) return false;
  if (c.weekdays != 0 && (c.weekdays >> facts.time.weekday & 1) == 0) return false;
  if (!c.periods.empty()) {
    bool found = false;
    for (const DayPeriod& period : c.periods) {
      found |= period.first <= facts.time.second && facts.time.second < period.end;
    }
    if (!found) return false;
  }
  return rule.weight == 0 || rule.weight >= facts.weight;
}

std::optional<bool> FitsTarget(const Conditions& c, const RequestFacts& facts) {
  if (!c.limits_target()) return true;
  if (!HasName(facts)) return std::nullopt;
  if (AnyNameFits(c, facts)) return true;
  if (facts.target.family() != AddressFamily::kNone) return FitsAddress(c, facts);
  if (c.limits_target_address()) return std::nullopt;
  return false;
}

std::optional<bool> FitsPort(const Conditions& c, const RequestFacts& facts) {
  if (c.ports.empty()) return true;
  if (facts.port == 0 && facts.operation != Operation::kBind) return std::nullopt;
  for (const PortSpan& span : c.ports) {
    if (span.first <= facts.port && facts.port <= span.last) return true;
  }
  return false;
}

}  // namespace

std::optional<bool> NaiveMatch(const Rule& rule, const RequestFacts& facts) {
  if (!FitsWhoAndWhen(rule, facts)) return false;
  const std::optional<bool> target = FitsTarget(rule.conditions, facts);
  const std::optional<bool> port = FitsPort(rule.conditions, facts);
  if ((target.has_value() && !*target) || (port.has_value() && !*port)) return false;
  if (!target.has_value() || !port.has_value()) return std::nullopt;
  return true;
}

bool NaiveFinalMatch(const Rule& rule, const RequestFacts& facts) {
  if (!FitsWhoAndWhen(rule, facts)) return false;
  const Conditions& c = rule.conditions;
  std::optional<bool> target = FitsTarget(c, facts);
  // Patterns are all that can be held against a name without an address.
  if (!target.has_value()) target = !HasName(facts) || c.target_names.empty();
  return *target && FitsPort(c, facts).value_or(true);
}

int NaiveFirst(const std::vector<Rule>& rules, const RequestFacts& facts) {
  for (size_t i = 0; i < rules.size(); ++i) {
    if (NaiveFinalMatch(rules[i], facts)) return static_cast<int>(i);
  }
  return -1;
}

uint32_t RandomRules::Below(uint32_t bound) {
  // A linear congruential generator: the same on every machine.
  state_ = state_ * 6364136223846793005u + 1442695040888963407u;
  return static_cast<uint32_t>((state_ >> 33) % bound);
}

SocketAddress RandomRules::Address() {
  if (!OneIn(3)) {
    constexpr uint32_t kNets[] = {0x0a000000, 0x7f000000, 0xc0000200, 0xa9fe0000, 0x08080800};
    return SocketAddress::Ipv4(kNets[Below(5)] + Below(8), 0);
  }
  std::array<uint8_t, 16> bytes{};
  constexpr uint8_t kHeads[] = {0x20, 0xfe, 0x00, 0xfd};
  bytes[0] = kHeads[Below(4)];
  bytes[1] = bytes[0] == 0xfe ? 0x80 : 0;
  bytes[7] = static_cast<uint8_t>(Below(2));
  bytes[15] = static_cast<uint8_t>(Below(8));
  return SocketAddress::Ipv6(bytes, 0);
}

AddressRange RandomRules::Range() {
  SocketAddress first = Address();
  if (OneIn(3)) return {first, first};
  if (OneIn(2) && first.family() == AddressFamily::kIpv4) {
    const uint32_t size = 1u << Below(33 - 1);
    return {SocketAddress::Ipv4(first.ipv4() & ~(size - 1), 0), SocketAddress::Ipv4(first.ipv4() | (size - 1), 0)};
  }
  SocketAddress last = Address();
  while (last.family() != first.family()) last = Address();
  return NumberOf(first) <= NumberOf(last) ? AddressRange{first, last} : AddressRange{last, first};
}

NamePattern RandomRules::Pattern() {
  return {static_cast<NamePattern::Kind>(Below(4)), kTexts[Below(std::size(kTexts))]};
}

Conditions RandomRules::Lists() {
  Conditions c;
  if (OneIn(3)) {
    for (uint32_t n = 1 + Below(3); n > 0; --n) c.users.emplace_back(kUsers[Below(std::size(kUsers))]);
  }
  if (OneIn(4)) {
    for (uint32_t n = 1 + Below(3); n > 0; --n) c.sources.push_back(Range());
  }
  if (OneIn(3)) {
    for (uint32_t n = 1 + Below(3); n > 0; --n) c.target_ranges.push_back(Range());
  }
  if (OneIn(4)) {
    for (uint32_t n = 1 + Below(3); n > 0; --n) c.target_names.push_back(Pattern());
  }
  c.target_local = OneIn(10);
  if (OneIn(4)) {
    for (uint32_t n = 1 + Below(3); n > 0; --n) {
      const uint16_t first = static_cast<uint16_t>(OneIn(4) ? Below(65536) : 78 + Below(5));
      c.ports.push_back({first, static_cast<uint16_t>(first + Below(65536u - first))});
    }
  }
  if (OneIn(4)) c.operations = static_cast<OperationSet>(Below(1u << kOperations));
  if (OneIn(6)) c.weekdays = static_cast<uint8_t>(Below(128));
  if (OneIn(6)) {
    for (uint32_t n = 1 + Below(2); n > 0; --n) {
      const int32_t first = static_cast<int32_t>(Below(86400));
      c.periods.push_back({first, static_cast<int32_t>(first + 1 + static_cast<int32_t>(Below(86400u - first)))});
    }
  }
  return c;
}

std::vector<Rule> RandomRules::Rules(int most) {
  std::vector<Rule> rules(Below(static_cast<uint32_t>(most) + 1));
  for (size_t i = 0; i < rules.size(); ++i) {
    rules[i].action = OneIn(2) ? Rule::Action::kAllow : Rule::Action::kDeny;
    rules[i].location = {"random.cfg", static_cast<int>(i) + 1};
    rules[i].conditions = Lists();
    if (OneIn(8)) rules[i].weight = static_cast<int>(Below(4));
  }
  return rules;
}

RequestFacts RandomRules::Request() {
  RequestFacts facts;
  if (!OneIn(3)) facts.user = kUsers[Below(std::size(kUsers))];
  if (facts.user == "-") facts.user = {};
  if (!OneIn(10)) facts.client = Address();
  if (!OneIn(4)) facts.host = kHosts[Below(std::size(kHosts))];
  if (!OneIn(3)) facts.target = Address();
  if (!OneIn(8)) facts.port = static_cast<uint16_t>(OneIn(3) ? Below(65536) : 78 + Below(8));
  facts.operation = static_cast<Operation>(Below(kOperations));
  facts.time.weekday = static_cast<uint8_t>(Below(7));
  facts.time.second = static_cast<int32_t>(Below(86400));
  if (OneIn(8)) facts.weight = static_cast<int>(Below(4));
  return facts;
}

}  // namespace sluice::access
