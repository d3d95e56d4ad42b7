#ifndef SLUICE_PROTOCOLS_SERVICE_SELF_LOOPS_H_
#define SLUICE_PROTOCOLS_SERVICE_SELF_LOOPS_H_

#include <cstdint>
#include <vector>

#include "protocols/service/snapshot.h"
#include "sys/net/socket_address.h"

namespace sluice::service {

// Which relay services lead back to themselves, directly or over other services of the same configuration: each client
// would make a chain of connections that ends when descriptors do. Told by numeric targets; a target by name is
// compared when it is resolved. One service that relays to another one is fine, as long as it ends somewhere else.
//
// bound[i] is where services[i] listens. A wildcard listener is reached by every address of this machine, as far as
// getifaddrs knows.
//
// Start-up and reload only.
std::vector<bool> FindSelfLoops(const Snapshot& snapshot, const std::vector<sys::SocketAddress>& bound);

// Whether somebody who connects to `target` reaches one of `listeners`. Asks for this machine's addresses only where
// the port is one of theirs and the listener a wildcard. Thread-safe; never blocks.
bool ReachesAny(const sys::SocketAddress& target, const std::vector<sys::SocketAddress>& listeners);

// Whether somebody who connects to `target` comes back to where this client came in, at `port`: an address that a
// redirection can hide from the list above. Thread-safe; never blocks.
bool IsWhereItCameIn(const sys::SocketAddress& target, uint16_t port, int client);

// Whether this is an address of this machine: of an interface, of loopback, or none in particular. Thread-safe; never
// blocks.
bool IsOfThisMachine(const sys::SocketAddress& address);

// The pure part: next[i] is the service that i's target reaches, or -1.
std::vector<bool> OnACycle(const std::vector<int>& next);

}  // namespace sluice::service

#endif  // SLUICE_PROTOCOLS_SERVICE_SELF_LOOPS_H_
