#ifndef SLUICE_PROTOCOLS_CONFIG_VALUES_H_
#define SLUICE_PROTOCOLS_CONFIG_VALUES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sys/net/socket_address.h"

namespace sluice::config {

// What the words of a configuration stand for. Everything here is strict where 3proxy is lenient: ports do not wrap, a
// number has no letters behind it, a name is never taken for an address.
//
// Pure. Thread-safe.

// Decimal digits and nothing else, from `min` to `max`.
std::optional<int64_t> ParseInteger(absl::string_view text, int64_t min, int64_t max);

// An address to listen on or to send from: IPv4, IPv6 (brackets allowed) or, where `allow_unix`, unix:/path and
// unix:@name. The error says what is wrong and what instead, without the word.
absl::StatusOr<sys::SocketAddress> ParseLocalAddress(absl::string_view text, bool allow_unix);

// `IP[:PORT]`, `[IPv6]:PORT` or a bare IPv6.
absl::StatusOr<sys::SocketAddress> ParseAddressAndPort(absl::string_view text, uint16_t default_port);

// `HOST`, `HOST:PORT`, with brackets around an IPv6 address: whom something is for. The host without its brackets. The
// error says what is wrong and what instead, without the word.
struct HostAndPort {
  std::string host;
  uint16_t port = 0;
};
absl::StatusOr<HostAndPort> ParseHostAndPort(absl::string_view text, uint16_t default_port);

// A name that the resolver takes (dns::ValidateHostName) and that is no address.
absl::Status CheckHostName(absl::string_view text);

// The name of a network interface: 1-15 bytes.
absl::Status CheckInterfaceName(absl::string_view text);

// The element of `candidates` that `word` was probably meant to be: at most two letters changed, added, left out or
// swapped, or the same in other case. Empty when none is near.
template <typename Candidates, typename GetName>
absl::string_view Nearest(absl::string_view word, const Candidates& candidates, GetName get_name);

// The number of letters to change, add, leave out or swap with their neighbour.
int EditDistance(absl::string_view a, absl::string_view b);

template <typename Candidates, typename GetName>
absl::string_view Nearest(absl::string_view word, const Candidates& candidates, GetName get_name) {
  // Of short words two changes leave nothing.
  int best = word.size() <= 4 ? 2 : 3;
  absl::string_view nearest;
  for (const auto& candidate : candidates) {
    const absl::string_view name = get_name(candidate);
    const int longer = static_cast<int>(word.size()) - static_cast<int>(name.size());
    if (longer >= best || -longer >= best) continue;  // so many letters at least are missing
    const int distance = EditDistance(word, name);
    if (distance < best) {
      best = distance;
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_VALUES_H_
