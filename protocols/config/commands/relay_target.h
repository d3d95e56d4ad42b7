#ifndef SLUICE_PROTOCOLS_CONFIG_COMMANDS_RELAY_TARGET_H_
#define SLUICE_PROTOCOLS_CONFIG_COMMANDS_RELAY_TARGET_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protocols/service/snapshot.h"

namespace sluice::config {

// Whom a service connects to, as a word says it: a name, an address, unix:/PATH or unix:@NAME. The port is left 0.
// Errors say what is wrong and what instead, without the word.
//
// Both are pure and thread-safe.
absl::StatusOr<service::RelayTarget> ParseRelayTarget(absl::string_view word);

// The same with a port behind it: `HOST[:PORT]`, `[IPv6]:PORT` or a bare IPv6. Port 0 when there is none.
absl::StatusOr<service::RelayTarget> ParseRelayTargetAndPort(absl::string_view word);

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_COMMANDS_RELAY_TARGET_H_
