#ifndef SLUICE_PROTOCOLS_CONFIG_COMMANDS_NETWORK_H_
#define SLUICE_PROTOCOLS_CONFIG_COMMANDS_NETWORK_H_

#include "protocols/config/command_context.h"
#include "protocols/service/snapshot.h"
#include "sys/net/socket_address.h"

namespace sluice::config {

// Settings of the services below that concern their sockets and times. Handlers of command_table.h.
//
// Thread-compatible.

void HandleMaxconn(CommandContext& context);
void HandleBacklog(CommandContext& context);
void HandleTimeouts(CommandContext& context);
void HandleInternal(CommandContext& context);
void HandleExternal(CommandContext& context);
void HandleUdpPorts(CommandContext& context);
void HandleMaxseg(CommandContext& context);
void HandleTransparent(CommandContext& context);
void HandleNotransparent(CommandContext& context);
void HandleForce(CommandContext& context);
void HandleNoforce(CommandContext& context);

// `external` and `-e`: the source address of the address's family. 0.0.0.0 and :: take it back.
void SetExternal(const sys::SocketAddress& address, service::ServiceOptions& service);

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_COMMANDS_NETWORK_H_
