#ifndef SLUICE_PROTOCOLS_CONFIG_COMMANDS_SERVICES_H_
#define SLUICE_PROTOCOLS_CONFIG_COMMANDS_SERVICES_H_

#include "protocols/config/command_context.h"

namespace sluice::config {

// The commands that start a service with the settings above them. Handlers of command_table.h.
//
// Thread-compatible.

void HandleTcppm(CommandContext& context);
void HandleUdppm(CommandContext& context);
void HandleSocks(CommandContext& context);
void HandleProxy(CommandContext& context);
void HandleAuto(CommandContext& context);
void HandleTlspr(CommandContext& context);

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_COMMANDS_SERVICES_H_
