#ifndef SLUICE_PROTOCOLS_CONFIG_COMMANDS_TLS_H_
#define SLUICE_PROTOCOLS_CONFIG_COMMANDS_TLS_H_

#include "protocols/config/command_context.h"
#include "protocols/service/snapshot.h"

namespace sluice::config {

// Handlers of the `ssl_*` commands (command_table.h). Files are read here, so an error of reading has the line of its
// command; what does not fit together is an error of the first service that needs it.

void HandleSslServ(CommandContext& context);
void HandleSslNoServ(CommandContext& context);
void HandleSslCli(CommandContext& context);
void HandleSslNoCli(CommandContext& context);
void HandleSslNoMitm(CommandContext& context);
void HandleSslKtls(CommandContext& context);
void HandleSslNoKtls(CommandContext& context);
// All `ssl_server_*` and `ssl_client_*` that have a value, told apart by their names.
void HandleSslSetting(CommandContext& context);
void HandleSslVerify(CommandContext& context);
void HandleSslClientMode(CommandContext& context);

// Gives the service its contexts. False: an error was said.
bool TakeTlsSettings(CommandContext& context, service::ServiceOptions& options);

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_COMMANDS_TLS_H_
