#include "protocols/http/route.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sluice::http {

std::string RouteOf(const Authority& authority, absl::string_view way) {
  std::string route = absl::StrCat(authority.host, ":", authority.port);
  absl::AsciiStrToLower(&route);
  if (!way.empty()) absl::StrAppend(&route, "|", way);
  return route;
}

bool LeadsTo(absl::string_view route, const Authority& authority) {
  const size_t host_bytes = authority.host.size();
  if (route.size() <= host_bytes || route[host_bytes] != ':' ||
      !absl::EqualsIgnoreCase(route.substr(0, host_bytes), authority.host)) {
    return false;
  }
  const absl::AlphaNum port(authority.port);
  route.remove_prefix(host_bytes + 1);
  return absl::StartsWith(route, port.Piece()) && (route.size() == port.size() || route[port.size()] == '|');
}

}  // namespace sluice::http
