#ifndef SLUICE_PROTOCOLS_CONFIG_COMMANDS_PROCESS_H_
#define SLUICE_PROTOCOLS_CONFIG_COMMANDS_PROCESS_H_

#include "protocols/config/command_context.h"

namespace sluice::config {

// What concerns the process, and the reading of the configuration itself. Handlers of command_table.h.
//
// Thread-compatible.

void HandlePidfile(CommandContext& context);
void HandleSetuid(CommandContext& context);
void HandleSetgid(CommandContext& context);
void HandleChroot(CommandContext& context);
void HandleDaemon(CommandContext& context);
void HandleMonitor(CommandContext& context);
void HandleConfig(CommandContext& context);
void HandleSystem(CommandContext& context);
void HandleInclude(CommandContext& context);
void HandleEnd(CommandContext& context);
void HandlePlugin(CommandContext& context);

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_COMMANDS_PROCESS_H_
