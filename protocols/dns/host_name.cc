#include "protocols/dns/host_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sluice::dns {
namespace {

// As much of a bad name as an error message should carry, made printable.
std::string Quoted(absl::string_view name) {
  constexpr size_t kShown = 64;
  return absl::StrCat("\"", absl::CHexEscape(name.substr(0, kShown)), name.size() > kShown ? "...\"" : "\"");
}

bool IsNumber(absl::string_view label) {
  if (absl::StartsWithIgnoreCase(label, "0x")) {
    return std::all_of(label.begin() + 2, label.end(), [](unsigned char c) { return absl::ascii_isxdigit(c); });
  }
  return std::all_of(label.begin(), label.end(), [](unsigned char c) { return absl::ascii_isdigit(c); });
}

absl::Status CheckBytes(absl::string_view name) {
  for (const unsigned char c : name) {
    if (absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.') continue;
    absl::string_view hint = "; only letters, digits, '-', '_' and '.' can be in a host name";
    if (c >= 0x80) hint = "; write an internationalised name in its ASCII form (xn--...)";
    return absl::InvalidArgumentError(
        absl::StrCat("host name ", Quoted(name), " contains the byte 0x", absl::Hex(c, absl::kZeroPad2), hint));
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<sys::SocketAddress> AddressLiteral(absl::string_view name) {
  if (name.empty()) return std::nullopt;
  const bool like_ipv4 = absl::ascii_isdigit(name.front()) && absl::ascii_isdigit(name.back());
  if (!like_ipv4 && name.find(':') == absl::string_view::npos) return std::nullopt;
  absl::StatusOr<sys::SocketAddress> address = sys::SocketAddress::ParseIp(name, 0);
  if (!address.ok()) return std::nullopt;
  return *std::move(address);
}

absl::Status ValidateHostName(absl::string_view name) {
  if (name.empty()) return absl::InvalidArgumentError("the host name is empty");
  if (AddressLiteral(name)) return absl::OkStatus();
  if (absl::Status bytes = CheckBytes(name); !bytes.ok()) return bytes;

  absl::string_view labels = name;
  if (absl::EndsWith(labels, ".")) labels.remove_suffix(1);
  if (labels.size() > kMaxHostNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("host name ", Quoted(name), " has ", labels.size(), " bytes; at most 253 are allowed"));
  }
  absl::string_view last;
  for (const absl::string_view label : absl::StrSplit(labels, '.')) {
    if (label.empty())
      return absl::InvalidArgumentError(absl::StrCat("host name ", Quoted(name), " has an empty label"));
    if (label.size() > kMaxLabelBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("host name ", Quoted(name), " has a label of ", label.size(), " bytes; at most 63 are allowed"));
    }
    last = label;
  }
  if (IsNumber(last)) {
    return absl::InvalidArgumentError(absl::StrCat("host name ", Quoted(name),
                                                   " ends in a number but is not an IPv4 address of four decimal "
                                                   "numbers; write the address as a.b.c.d"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> NormalizeHostName(absl::string_view name) {
  if (absl::Status valid = ValidateHostName(name); !valid.ok()) return valid;
  if (absl::EndsWith(name, ".")) name.remove_suffix(1);
  return absl::AsciiStrToLower(name);
}

}  // namespace sluice::dns
