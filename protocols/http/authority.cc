#include "protocols/http/authority.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "sys/net/socket_address.h"

namespace sluice::http {
namespace {

// A DNS name has at most 253 bytes; the resolver has the last word on names.
constexpr size_t kMostHostBytes = 255;

bool ParsePort(absl::string_view text, uint16_t& port) {
  if (text.empty() || text.size() > 5) return false;
  uint32_t value = 0;
  for (const char c : text) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return false;
    value = value * 10 + static_cast<uint32_t>(c - '0');
  }
  if (value == 0 || value > 65535) return false;
  port = static_cast<uint16_t>(value);
  return true;
}

bool IsHost(absl::string_view host) {
  if (host.empty() || host.size() > kMostHostBytes) return false;
  for (const char c : host) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.' && c != '_' && c != '~')
      return false;
  }
  return true;
}

// "%" would begin a zone, which is ours to know and not the client's.
bool IsIpv6(absl::string_view host) {
  if (host.empty() || absl::StrContains(host, '%')) return false;
  return absl::StrContains(host, ':') && sys::SocketAddress::ParseIp(host, 0).ok();
}

}  // namespace

bool ParseAuthority(absl::string_view text, uint16_t default_port, Authority& result) {
  absl::string_view after;
  if (!text.empty() && text.front() == '[') {
    const size_t bracket = text.find(']');
    if (bracket == absl::string_view::npos) return false;
    result.host = text.substr(1, bracket - 1);
    result.ipv6 = true;
    after = text.substr(bracket + 1);
    if (!IsIpv6(result.host)) return false;
  } else {
    const size_t colon = text.find(':');
    result.host = text.substr(0, colon);
    result.ipv6 = false;
    after = colon == absl::string_view::npos ? absl::string_view() : text.substr(colon);
    if (!IsHost(result.host)) return false;
  }
  if (after.empty()) {
    result.port = default_port;
    return default_port != 0;
  }
  return after.front() == ':' && ParsePort(after.substr(1), result.port);
}

std::string Authority::ToString(uint16_t default_port) const {
  std::string text = ipv6 ? absl::StrCat("[", host, "]") : std::string(host);
  if (port != default_port) absl::StrAppend(&text, ":", port);
  return text;
}

}  // namespace sluice::http
