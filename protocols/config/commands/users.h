#ifndef SLUICE_PROTOCOLS_CONFIG_COMMANDS_USERS_H_
#define SLUICE_PROTOCOLS_CONFIG_COMMANDS_USERS_H_

#include "protocols/config/command_context.h"

namespace sluice::config {

// `users NAME[:TYPE:PASSWORD]...`: adds to Snapshot::users, which all services share. NAME:PASSWORD is CL. A word
// without a colon is passed over with a warning, as in 3proxy; any other that would let in nobody, or everybody, is an
// error. A name that comes again must have the same password.
//
// Messages name the user, or the position of the word where it may be a password.
//
// Thread-compatible.
void HandleUsers(CommandContext& context);

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_COMMANDS_USERS_H_
