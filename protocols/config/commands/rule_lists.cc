#include "protocols/config/commands/rule_lists.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "protocols/access/operation.h"
#include "protocols/config/values.h"
#include "protocols/dns/host_name.h"
#include "sys/net/socket_address.h"

namespace sluice::config {
namespace {

using access::AddressRange;
using access::Conditions;
using access::NamePattern;
using sys::AddressFamily;
using sys::SocketAddress;

constexpr int kMostWeight = 1'000'000;

absl::Status Bad(std::string text) { return absl::InvalidArgumentError(std::move(text)); }

absl::Status ParseAddress(absl::string_view text, SocketAddress& address) {
  absl::StatusOr<SocketAddress> parsed = SocketAddress::ParseIp(text, 0);
  if (!parsed.ok() || absl::StrContains(text, '%') || absl::StrContains(text, '[')) {
    return Bad("is no address, give IPv4 as four numbers or IPv6");
  }
  address = *std::move(parsed);
  return absl::OkStatus();
}

SocketAddress WithTail(const SocketAddress& address, int bits, bool ones) {
  if (address.family() == AddressFamily::kIpv4) {
    const uint32_t tail = bits == 0 ? 0xffffffffu : (uint32_t{1} << (32 - bits)) - 1;
    return SocketAddress::Ipv4(ones ? address.ipv4() | tail : address.ipv4() & ~tail, 0);
  }
  std::array<uint8_t, 16> bytes = address.ipv6();
  for (int i = 0; i < 16; ++i) {
    const int kept = std::clamp(bits - 8 * i, 0, 8);
    const uint8_t tail = static_cast<uint8_t>(0xff >> kept);
    uint8_t& byte = bytes[static_cast<size_t>(i)];
    byte = static_cast<uint8_t>(ones ? byte | tail : byte & ~tail);
  }
  return SocketAddress::Ipv6(bytes, 0);
}

absl::Status ParseBlock(absl::string_view address_text, absl::string_view length, AddressRange& range) {
  SocketAddress address;
  if (absl::Status status = ParseAddress(address_text, address); !status.ok()) return status;
  const bool mapped = address.family() == AddressFamily::kIpv4 && absl::StrContains(address_text, ':');
  const int most = address.family() == AddressFamily::kIpv4 && !mapped ? 32 : 128;
  const std::optional<int64_t> bits = ParseInteger(length, 0, most);
  if (!bits.has_value()) return Bad(absl::StrCat("is no block, behind the / stands a number from 0 to ", most));
  if (mapped && *bits < 96)
    return Bad("covers more than the mapped IPv4 addresses, which rules know as IPv4, give those");
  const int kept = static_cast<int>(mapped ? *bits - 96 : *bits);
  range.first = WithTail(address, kept, /*ones=*/false);
  range.last = WithTail(address, kept, /*ones=*/true);
  // A block that ends with the mapped addresses (::/80) ends before them, since they are known as IPv4.
  if (range.last.family() != range.first.family()) {
    range.last = SocketAddress::Ipv6({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0xff, 0xff, 0xff, 0xff}, 0);
  }
  return absl::OkStatus();
}

bool IsBefore(const SocketAddress& a, const SocketAddress& b) {
  if (a.family() == AddressFamily::kIpv4) return a.ipv4() < b.ipv4();
  return a.ipv6() < b.ipv6();
}

bool IsOf(absl::string_view text, absl::string_view letters) {
  return text.find_first_not_of(letters) == absl::string_view::npos;
}

bool IsNameByte(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_';
}

absl::Status CheckPatternText(absl::string_view text, NamePattern::Kind kind) {
  if (text.empty()) return Bad("is no pattern, letters stand beside the *, write * alone for any target");
  if (absl::StrContains(text, '*')) {
    return Bad("has a * in its middle, a pattern has one at its ends only: *x, x* or *x*, give several patterns");
  }
  if (absl::StartsWith(text, "unix:") && kind != NamePattern::Kind::kSuffix) return absl::OkStatus();
  if (kind == NamePattern::Kind::kExact) {
    const absl::Status status = dns::ValidateHostName(text);
    if (!status.ok()) return Bad(absl::StrCat(status.message(), ", give a name, a pattern, an address, A-B or A/BITS"));
  }
  if (absl::StrContains(text, ':')) {
    return Bad("is a pattern for IPv6 addresses, which have several spellings, give a block (2001:db8::/32)");
  }
  if (!std::all_of(text.begin(), text.end(), IsNameByte)) {
    return Bad("has letters that no host name has, give international names as xn--...");
  }
  return absl::OkStatus();
}

absl::Status ParseNamePattern(absl::string_view text, Conditions& conditions) {
  const bool open_start = absl::StartsWith(text, "*");
  if (open_start) text.remove_prefix(1);
  const bool open_end = absl::EndsWith(text, "*");
  if (open_end) text.remove_suffix(1);
  NamePattern pattern;
  pattern.kind = open_start ? (open_end ? NamePattern::Kind::kSubstring : NamePattern::Kind::kSuffix)
                            : (open_end ? NamePattern::Kind::kPrefix : NamePattern::Kind::kExact);
  // Of the request they are dropped, too.
  while (!open_end && absl::EndsWith(text, ".")) text.remove_suffix(1);
  if (absl::Status status = CheckPatternText(text, pattern.kind); !status.ok()) return status;
  pattern.text = absl::AsciiStrToLower(text);
  conditions.target_names.push_back(std::move(pattern));
  return absl::OkStatus();
}

std::optional<int32_t> ParseTimeOfDay(absl::string_view text) {
  if (text.size() != 8 || text[2] != ':' || text[5] != ':') return std::nullopt;
  const auto hours = ParseInteger(text.substr(0, 2), 0, 24);
  const auto minutes = ParseInteger(text.substr(3, 2), 0, 59);
  const auto seconds = ParseInteger(text.substr(6, 2), 0, 59);
  if (!hours || !minutes || !seconds) return std::nullopt;
  const int32_t time = static_cast<int32_t>(*hours * 3600 + *minutes * 60 + *seconds);
  return time <= 86400 ? std::optional<int32_t>(time) : std::nullopt;
}

// Whether the word stands for "any"; else calls `take` with each element, and says what is wrong with it.
class ListReader {
 public:
  ListReader(CommandContext& context, int first) : context_(context), index_(first) {}

  template <typename Take>
  void Read(absl::string_view what, Take take) {
    const int index = index_++;
    if (index > context_.arguments() || context_.argument(index) == "*") return;
    for (absl::string_view element : absl::StrSplit(context_.argument(index), ',')) {
      absl::Status status = absl::OkStatus();
      if (element.empty()) {
        status = Bad("is an empty element, take the comma away, or write * for any");
      } else if (element == "*") {
        status = Bad("stands among others and would make the list match everything, write it alone");
      } else {
        status = take(element);
      }
      if (status.ok()) continue;
      context_.Error(absl::StrCat(what, ": ", Quoted(element), " ", status.message()));
      ok_ = false;
    }
  }

  int index() const { return index_; }
  bool ok() const { return ok_; }
  void Fail() { ok_ = false; }

 private:
  CommandContext& context_;
  int index_;
  bool ok_ = true;
};

absl::Status ParseOperationElement(absl::string_view element, Conditions& conditions) {
  const std::optional<access::OperationSet> set = access::ParseOperation(element);
  if (!set.has_value()) {
    return Bad(
        "is no operation, they are CONNECT, BIND, UDPASSOC, ICMPASSOC, HTTP, HTTP_GET, HTTP_PUT, HTTP_POST, "
        "HTTP_HEAD, HTTP_OTHER, HTTPS, HTTP_CONNECT, FTP, FTP_GET, FTP_PUT, FTP_LIST, FTP_DATA, DNSRESOLVE and "
        "ADMIN, give one of them");
  }
  conditions.operations = static_cast<access::OperationSet>(conditions.operations | *set);
  return absl::OkStatus();
}

}  // namespace

absl::Status ParseAddressRange(absl::string_view text, AddressRange& range) {
  if (const size_t slash = text.find('/'); slash != absl::string_view::npos) {
    return ParseBlock(text.substr(0, slash), text.substr(slash + 1), range);
  }
  const size_t dash = text.find('-');
  if (absl::Status status = ParseAddress(text.substr(0, dash), range.first); !status.ok()) return status;
  range.last = range.first;
  if (dash == absl::string_view::npos) return absl::OkStatus();
  if (absl::Status status = ParseAddress(text.substr(dash + 1), range.last); !status.ok()) return status;
  if (range.first.family() != range.last.family())
    return Bad("goes from one address family to another, give two ranges");
  if (IsBefore(range.last, range.first)) return Bad("goes backwards and matches nothing, give the lower address first");
  return absl::OkStatus();
}

absl::Status ParseTargetElement(absl::string_view text, Conditions& conditions) {
  if (text == "local") {
    conditions.target_local = true;
    return absl::OkStatus();
  }
  // What has the form of an address must be one: as a pattern it would match no host, and so pass everything by.
  const bool is_unix = absl::StartsWith(text, "unix:");
  const absl::string_view head = text.substr(0, text.find('-'));
  const bool like_address = !is_unix && !absl::StrContains(text, '*') &&
                            (absl::StrContains(text, '/') || absl::StrContains(text, ':') ||
                             (IsOf(head, "0123456789.") && (head == text || absl::StrContains(head, '.'))));
  if (!like_address) return ParseNamePattern(text, conditions);
  AddressRange range;
  absl::Status status = ParseAddressRange(text, range);
  if (status.ok()) conditions.target_ranges.push_back(std::move(range));
  return status;
}

absl::Status ParsePortSpan(absl::string_view text, access::PortSpan& span) {
  const size_t dash = text.find('-');
  const auto first = ParseInteger(text.substr(0, dash), 0, 65535);
  const auto last = dash == absl::string_view::npos ? first : ParseInteger(text.substr(dash + 1), 0, 65535);
  if (!first || !last) return Bad("is no port or range of ports, ports are 0 to 65535, write N or A-B");
  if (*last < *first) return Bad("goes backwards and matches nothing, give the lower port first");
  span = {static_cast<uint16_t>(*first), static_cast<uint16_t>(*last)};
  return absl::OkStatus();
}

absl::Status ParseWeekdays(absl::string_view text, uint8_t& weekdays) {
  const size_t dash = text.find('-');
  const auto first = ParseInteger(text.substr(0, dash), 0, 7);
  const auto last = dash == absl::string_view::npos ? first : ParseInteger(text.substr(dash + 1), 0, 7);
  if (!first || !last) return Bad("is no day of the week or range of them, days are 0 (Sunday) to 7 (Sunday again)");
  if (*last < *first) return Bad("goes backwards, give two ranges (5-7,1)");
  for (int64_t day = *first; day <= *last; ++day) weekdays = static_cast<uint8_t>(weekdays | 1 << day % 7);
  return absl::OkStatus();
}

absl::Status ParseDayPeriod(absl::string_view text, access::DayPeriod& period) {
  const std::pair<absl::string_view, absl::string_view> ends = absl::StrSplit(text, absl::MaxSplits('-', 1));
  const std::optional<int32_t> first = ParseTimeOfDay(ends.first);
  const std::optional<int32_t> end = ParseTimeOfDay(ends.second);
  if (!first || !end) return Bad("is no period, write HH:MM:SS-HH:MM:SS, from 00:00:00 to 24:00:00");
  if (*end <= *first) {
    return Bad(
        "ends before it begins, a period does not go over midnight, give two: 22:00:00-24:00:00,00:00:00-06:00:00");
  }
  period = {*first, *end};
  return absl::OkStatus();
}

bool ReadRuleLists(CommandContext& context, int first, Conditions& conditions, int& weight) {
  ListReader reader(context, first);
  reader.Read("USERS", [&](absl::string_view element) {
    conditions.users.emplace_back(element);
    return absl::OkStatus();
  });
  reader.Read("SOURCES", [&](absl::string_view element) -> absl::Status {
    if (element == "local") return Bad("is for targets, clients have addresses, give those (127.0.0.0/8)");
    absl::Status status = ParseAddressRange(element, conditions.sources.emplace_back());
    if (status.ok() || element.find_first_not_of("0123456789abcdefABCDEF.:/-%[]") == absl::string_view::npos) {
      return status;
    }
    return Bad("is no address, clients are not known by name (but see auth dnsname), give an address, A-B or A/BITS");
  });
  reader.Read("TARGETS", [&](absl::string_view element) { return ParseTargetElement(element, conditions); });
  reader.Read("PORTS",
              [&](absl::string_view element) { return ParsePortSpan(element, conditions.ports.emplace_back()); });
  reader.Read("OPERATIONS", [&](absl::string_view element) { return ParseOperationElement(element, conditions); });
  reader.Read("WEEKDAYS", [&](absl::string_view element) { return ParseWeekdays(element, conditions.weekdays); });
  reader.Read("TIMES",
              [&](absl::string_view element) { return ParseDayPeriod(element, conditions.periods.emplace_back()); });
  const int last = reader.index();
  if (last <= context.arguments() && context.argument(last) != "*") {
    const auto number = ParseInteger(context.argument(last), 0, kMostWeight);
    if (!number) {
      context.Error(absl::StrCat("WEIGHT: ", Quoted(context.argument(last)), " is no number from 0 to ", kMostWeight));
      reader.Fail();
    } else {
      weight = static_cast<int>(*number);
    }
  }
  return reader.ok();
}

}  // namespace sluice::config
