#include "protocols/upstream/endpoint.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sluice::upstream {

std::string Endpoint::ToString() const {
  if (host.empty()) return address.ToString();
  if (absl::StrContains(host, ':') && host.front() != '[') return absl::StrCat("[", host, "]:", port);
  return absl::StrCat(host, ":", port);
}

std::string Endpoint::AddressText() const { return has_address() ? address.ToString() : ToString(); }

}  // namespace sluice::upstream
