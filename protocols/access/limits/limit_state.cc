#include "protocols/access/limits/limit_state.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace sluice::access {
namespace {

// The network of an address: "192.0.2.0/24".
std::string NetworkOf(const sys::SocketAddress& address, int ipv4_bits, int ipv6_bits) {
  if (address.family() == sys::AddressFamily::kIpv4) {
    const uint32_t mask = ipv4_bits == 0 ? 0 : ~uint32_t{0} << (32 - ipv4_bits);
    return absl::StrCat(sys::SocketAddress::Ipv4(address.ipv4() & mask, 0).IpText(), "/", ipv4_bits);
  }
  if (address.family() != sys::AddressFamily::kIpv6) return address.IpText();
  std::array<uint8_t, 16> bytes = address.ipv6();
  for (int bit = ipv6_bits; bit < 128; ++bit) {
    bytes[static_cast<size_t>(bit / 8)] &= static_cast<uint8_t>(~(0x80 >> bit % 8));
  }
  return absl::StrCat(sys::SocketAddress::Ipv6(bytes, 0).IpText(), "/", ipv6_bits);
}

}  // namespace

std::string KeyOf(const LimitRule& line, const RequestFacts& facts) {
  switch (line.scope) {
    case LimitScope::kRule:
      return "";
    case LimitScope::kUser:
      return facts.user.empty() ? "-" : std::string(facts.user);
    case LimitScope::kSource:
      return NetworkOf(facts.client, line.ipv4_bits, line.ipv6_bits);
    case LimitScope::kHost: {
      if (facts.host.empty()) return facts.target.IpText();
      absl::string_view host = facts.host;
      while (!host.empty() && host.back() == '.') host.remove_suffix(1);
      return absl::AsciiStrToLower(host);
    }
  }
  return "";
}

LimitState::LimitState(const LimitRule&, accounting::CounterStore* counters) : counters_(counters) {}

std::shared_ptr<relay::RateLimiter> LimitState::Rate(const LimitRule& line, const RequestFacts& facts,
                                                     sys::MonotonicNanos now) {
  return rates_.Get(
      KeyOf(line, facts), now, [&](absl::string_view) { return std::make_shared<relay::RateLimiter>(line.amount); },
      [&](const auto& rate) { return rate.use_count() == 1 && rate->IsFull(now); });
}

std::shared_ptr<ConnectionLimit> LimitState::Places(const LimitRule& line, const RequestFacts& facts,
                                                    sys::MonotonicNanos now) {
  return places_.Get(
      KeyOf(line, facts), now,
      [&](absl::string_view) { return std::make_shared<ConnectionLimit>(line.amount, line.period_seconds); },
      [&](const auto& places) { return places.use_count() == 1 && places->IsUnused(now); });
}

std::shared_ptr<accounting::Counter> LimitState::Counter(const LimitRule& line, const RequestFacts& facts,
                                                         sys::MonotonicNanos now) {
  // The store has those with a number as well.
  const long held_elsewhere = line.number == 0 ? 0 : 1;
  return counted_.Get(
      KeyOf(line, facts), now,
      [&](absl::string_view key) {
        return counters_->Find({line.number, std::string(key)}, {line.amount, line.reset, line.comment});
      },
      [&](const auto& counter) { return counter.use_count() <= 1 + held_elsewhere && counter->bytes().bytes() == 0; });
}

void LimitState::Follow(const LimitRule& line) {
  rates_.ForEach([&](relay::RateLimiter& rate) { rate.SetRate(line.amount); });
  places_.ForEach([&](ConnectionLimit& places) { places.Set(line.amount, line.period_seconds); });
  counted_.ForEach([&](accounting::Counter& counter) { counter.Follow({line.amount, line.reset, line.comment}); });
}

void LimitState::Forget() {
  rates_.ForEach([](relay::RateLimiter& rate) { rate.SetRate(0); });
  counted_.ForEach([](accounting::Counter& counter) { counter.Release(); });
}

}  // namespace sluice::access
