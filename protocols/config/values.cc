#include "protocols/config/values.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "protocols/dns/host_name.h"

namespace sluice::config {
namespace {

bool AllDigits(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isdigit(c); });
}

}  // namespace

std::optional<int64_t> ParseInteger(absl::string_view text, int64_t min, int64_t max) {
  int64_t value;
  // SimpleAtoi alone would take blanks and signs.
  if (!AllDigits(text) || !absl::SimpleAtoi(text, &value) || value < min || value > max) return std::nullopt;
  return value;
}

absl::StatusOr<sys::SocketAddress> ParseLocalAddress(absl::string_view text, bool allow_unix) {
  if (absl::ConsumePrefix(&text, "unix:")) {
    if (!allow_unix) {
      return absl::InvalidArgumentError(
          "is a unix socket, nothing can be sent to other machines from one, give an IPv4 or IPv6 address");
    }
    absl::StatusOr<sys::SocketAddress> address = sys::SocketAddress::ParseUnix(text);
    if (address.ok()) return address;
    return absl::InvalidArgumentError(
        "is no unix socket, it takes unix:/PATH or unix:@NAME with at most 107 bytes, give one of these");
  }
  absl::StatusOr<sys::SocketAddress> address = sys::SocketAddress::ParseIp(text, 0);
  if (address.ok()) return address;
  return absl::InvalidArgumentError(
      absl::StrCat("is no address, names are not looked up here, give an IPv4 or IPv6 address of this machine",
                   allow_unix ? ", unix:/PATH or unix:@NAME" : ""));
}

absl::StatusOr<sys::SocketAddress> ParseAddressAndPort(absl::string_view text, uint16_t default_port) {
  absl::string_view host = text;
  absl::string_view port;
  bool has_port = false;
  const size_t colon = text.rfind(':');
  const bool one_colon = colon != absl::string_view::npos && text.find(':') == colon;
  const bool behind_bracket = colon != absl::string_view::npos && colon > 0 && text[colon - 1] == ']';
  if (one_colon || behind_bracket) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    has_port = true;
  }
  std::optional<int64_t> number = default_port;
  if (has_port) number = ParseInteger(port, 1, 65535);
  if (!number) return absl::InvalidArgumentError("has a bad port, ports are 1 to 65535, write ADDRESS:PORT");
  absl::StatusOr<sys::SocketAddress> address = sys::SocketAddress::ParseIp(host, static_cast<uint16_t>(*number));
  if (address.ok()) return address;
  return absl::InvalidArgumentError(
      "is no address, a name would have to be looked up first, write IPV4, IPV4:PORT, "
      "IPV6 or [IPV6]:PORT");
}

absl::StatusOr<HostAndPort> ParseHostAndPort(absl::string_view text, uint16_t default_port) {
  HostAndPort result{"", default_port};
  absl::StatusOr<sys::SocketAddress> address = ParseAddressAndPort(text, default_port);
  if (address.ok() && address->port() != 0 && !address->is_any()) {
    return HostAndPort{address->IpText(), address->port()};
  }
  const size_t colon = text.rfind(':');
  result.host = std::string(text.substr(0, colon));
  if (colon != absl::string_view::npos) {
    const auto port = ParseInteger(text.substr(colon + 1), 1, 65535);
    if (!port) {
      return absl::InvalidArgumentError("has no port behind its colon, ports are 1 to 65535, write HOST or HOST:PORT");
    }
    result.port = static_cast<uint16_t>(*port);
  }
  if (address.ok() || sys::SocketAddress::ParseIp(result.host, 0).ok() || !dns::ValidateHostName(result.host).ok()) {
    return absl::InvalidArgumentError("names nobody, write HOST or HOST:PORT, with brackets around an IPv6 address");
  }
  return result;
}

absl::Status CheckHostName(absl::string_view text) {
  if (sys::SocketAddress::ParseIp(text, 0).ok()) {
    return absl::InvalidArgumentError("is an address, a host name belongs here");
  }
  const absl::Status status = dns::ValidateHostName(text);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat("is no host name: ", status.message()));
}

absl::Status CheckInterfaceName(absl::string_view text) {
  // IFNAMSIZ is 16 with its NUL; the kernel refuses blanks, '/' and ':' (dev_valid_name).
  const bool good =
      !text.empty() && text.size() <= 15 && text != "." && text != ".." &&
      std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isgraph(c) && c != '/' && c != ':'; });
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "is no name of an interface, these have 1 to 15 letters without blanks, / and :, see `ip link`");
}

int EditDistance(absl::string_view a, absl::string_view b) {
  // Three rows of the usual table; words of a configuration that are longer than this are no misspelt command.
  constexpr size_t kLongest = 64;
  if (a.size() > kLongest || b.size() > kLongest) return static_cast<int>(kLongest);
  std::vector<int> before(b.size() + 1), previous(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(previous);
    previous.swap(row);
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = absl::ascii_tolower(a[i - 1]) == absl::ascii_tolower(b[j - 1]);
      row[j] = std::min({previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace sluice::config
