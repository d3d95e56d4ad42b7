#ifndef SLUICE_PROTOCOLS_SOCKS_BIND_H_
#define SLUICE_PROTOCOLS_SOCKS_BIND_H_

#include "protocols/socks/arrival.h"
#include "relay/worker.h"

namespace sluice::socks {

// BIND: opens a port for one connection from the address that the client has named (from anywhere, if that was 0.0.0.0
// or ::), tells the client where it is, and starts a session whose upstream is who comes. The second reply names it.
//
// The port is opened on the address from which the expected peer would be connected to: the service's external one, or
// what the routes say; that is also what the first reply says (or `-Ne`). It lives as long as the client's connection
// and at most CONNECTION_LONG, and no thread waits for it (relay::ConnectPlan::listener).
//
// Worker only.
void Bind(relay::Worker& worker, Arrival arrival);

}  // namespace sluice::socks

#endif  // SLUICE_PROTOCOLS_SOCKS_BIND_H_
