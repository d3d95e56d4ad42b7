#ifndef SLUICE_PROTOCOLS_CONFIG_COMMANDS_ACCESS_H_
#define SLUICE_PROTOCOLS_CONFIG_COMMANDS_ACCESS_H_

#include "protocols/config/command_context.h"

namespace sluice::config {

// Who may do what. Handlers of command_table.h.
//
// Thread-compatible.

void HandleAuth(CommandContext& context);
void HandleFlush(CommandContext& context);

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_COMMANDS_ACCESS_H_
