#include "protocols/config/commands/relay_target.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "protocols/config/values.h"
#include "sys/net/socket_address.h"

namespace sluice::config {

absl::StatusOr<service::RelayTarget> ParseRelayTarget(absl::string_view word) {
  service::RelayTarget target;
  if (absl::StartsWith(word, "unix:")) {
    absl::StatusOr<sys::SocketAddress> path = ParseLocalAddress(word, /*allow_unix=*/true);
    if (!path.ok()) return path.status();
    target.address = *std::move(path);
    return target;
  }
  absl::StatusOr<sys::SocketAddress> address = sys::SocketAddress::ParseIp(word, 0);
  if (address.ok()) {
    target.address = *std::move(address);
    return target;
  }
  target.host_name = std::string(word);
  const absl::Status status = CheckHostName(word);
  if (status.ok()) return target;
  return absl::InvalidArgumentError(
      absl::StrCat(status.message(), ", give a name, an address, unix:/PATH or unix:@NAME"));
}

absl::StatusOr<service::RelayTarget> ParseRelayTargetAndPort(absl::string_view word) {
  const size_t colon = word.rfind(':');
  const bool has_colon = colon != absl::string_view::npos;
  const bool one_colon = has_colon && word.find(':') == colon;
  const bool behind_bracket = has_colon && colon > 0 && word[colon - 1] == ']';
  if (absl::StartsWith(word, "unix:") || !(one_colon || behind_bracket)) return ParseRelayTarget(word);
  const std::optional<int64_t> port = ParseInteger(word.substr(colon + 1), 1, 65535);
  if (!port) return absl::InvalidArgumentError("has a bad port, ports are 1 to 65535, write HOST:PORT");
  absl::StatusOr<service::RelayTarget> target = ParseRelayTarget(word.substr(0, colon));
  if (!target.ok()) return target;
  target->port = static_cast<uint16_t>(*port);
  if (target->address.is_ip()) target->address.set_port(target->port);
  return target;
}

}  // namespace sluice::config
