#ifndef SLUICE_PROTOCOLS_CONFIG_COMMANDS_ACCESS_H_
#define SLUICE_PROTOCOLS_CONFIG_COMMANDS_ACCESS_H_

#include "protocols/config/command_context.h"
#include "protocols/service/snapshot.h"

namespace sluice::config {

// Who may do what. Handlers of command_table.h.
//
// Thread-compatible.

void HandleAuth(CommandContext& context);
void HandleAuthcache(CommandContext& context);
void HandleFlush(CommandContext& context);
void HandleAllow(CommandContext& context);
void HandleDeny(CommandContext& context);
void HandleNolog(CommandContext& context);
void HandleWeight(CommandContext& context);

// Gives a service the rules and what has been said about authentication above it, and says what is wrong with the two
// together: a cache whose key is too narrow for the rules is an error, what cannot be meant a warning.
void FinishAccess(CommandContext& context, service::ServiceOptions& options);

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_COMMANDS_ACCESS_H_
