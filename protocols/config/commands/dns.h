#ifndef SLUICE_PROTOCOLS_CONFIG_COMMANDS_DNS_H_
#define SLUICE_PROTOCOLS_CONFIG_COMMANDS_DNS_H_

#include "protocols/config/command_context.h"

namespace sluice::config {

// How names are resolved: one resolver serves all services, wherever the lines stand. Handlers of command_table.h.
//
// Thread-compatible.

void HandleNserver(CommandContext& context);
void HandleAuthnserver(CommandContext& context);
void HandleNscache(CommandContext& context);
void HandleNscache6(CommandContext& context);
void HandleNsrecord(CommandContext& context);

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_COMMANDS_DNS_H_
