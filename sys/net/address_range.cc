#include "sys/net/address_range.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sluice::sys {
namespace {

constexpr int kMappedBits = 96;  // of ::ffff:0:0, before the IPv4 address

int BitsOf(AddressFamily family) { return family == AddressFamily::kIpv4 ? 32 : 128; }

// Digits and nothing else: SimpleAtoi takes signs and blanks.
bool ParseBits(absl::string_view text, int& bits) {
  if (text.empty() || text.size() > 3) return false;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
  }
  return absl::SimpleAtoi(text, &bits);
}

}  // namespace

AddressRange::Bytes AddressRange::BytesOf(const SocketAddress& address) {
  if (address.family() == AddressFamily::kIpv6) return address.ipv6();
  Bytes bytes{};
  const uint32_t ip = address.ipv4();
  for (int i = 0; i < 4; ++i) bytes[i] = static_cast<uint8_t>(ip >> (24 - 8 * i));
  return bytes;
}

absl::StatusOr<AddressRange> AddressRange::Parse(absl::string_view text) {
  const size_t slash = text.find('/');
  const size_t dash = text.find('-');
  const size_t end = slash < dash ? slash : dash;
  absl::StatusOr<SocketAddress> first = SocketAddress::ParseIp(text.substr(0, end), 0);
  if (!first.ok()) return first.status();
  AddressRange range;
  range.family_ = first->family();
  range.first_ = range.last_ = BytesOf(*first);
  if (end == absl::string_view::npos) return range;
  const absl::string_view rest = text.substr(end + 1);
  if (dash == end) {
    absl::StatusOr<SocketAddress> last = SocketAddress::ParseIp(rest, 0);
    if (!last.ok()) return last.status();
    if (last->family() != range.family_) return absl::InvalidArgumentError("its two ends are of different families");
    range.last_ = BytesOf(*last);
    if (range.last_ < range.first_) return absl::InvalidArgumentError("it ends before it begins");
    return range;
  }
  const bool mapped = first->family() == AddressFamily::kIpv4 && absl::StrContains(text.substr(0, end), ':');
  const int least = mapped ? kMappedBits : 0;
  const int most = BitsOf(range.family_) + least;
  int bits = 0;
  if (!ParseBits(rest, bits) || bits < least || bits > most) {
    return absl::InvalidArgumentError(absl::StrCat("behind / stands a number from ", least, " to ", most));
  }
  bits -= least;
  for (int bit = bits; bit < BitsOf(range.family_); ++bit) {
    const uint8_t mask = static_cast<uint8_t>(0x80 >> (bit % 8));
    range.first_[bit / 8] &= static_cast<uint8_t>(~mask);
    range.last_[bit / 8] |= mask;
  }
  return range;
}

bool AddressRange::Contains(const SocketAddress& address) const {
  if (!address.is_ip() || address.family() != family_) return false;
  const Bytes bytes = BytesOf(address);
  return first_ <= bytes && bytes <= last_;
}

}  // namespace sluice::sys
