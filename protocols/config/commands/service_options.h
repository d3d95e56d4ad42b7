#ifndef SLUICE_PROTOCOLS_CONFIG_COMMANDS_SERVICE_OPTIONS_H_
#define SLUICE_PROTOCOLS_CONFIG_COMMANDS_SERVICE_OPTIONS_H_

#include <cstdint>
#include <optional>

#include "protocols/config/command_context.h"
#include "protocols/service/snapshot.h"

namespace sluice::config {

// A service command being read: a copy of the settings with its own options put over them.
struct ServiceDraft {
  service::ServiceOptions options;
  std::optional<uint16_t> port;  // -p
};

// Reads the options at the beginning of a service command: all words up to the first that does not begin with '-'.
// Returns the index of that word (arguments() + 1 when there is none), and 0 when an option was wrong; all wrong ones
// are in the diagnostics then.
//
// Options are glued to their letter (`-p3128`). One that is given twice counts as given last and is warned of.
//
// Thread-compatible.
int ReadServiceOptions(CommandContext& context, ServiceDraft& draft);

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_COMMANDS_SERVICE_OPTIONS_H_
