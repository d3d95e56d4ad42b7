#ifndef SLUICE_PROTOCOLS_SOCKS_RESOLVE_H_
#define SLUICE_PROTOCOLS_SOCKS_RESOLVE_H_

#include <functional>
#include <vector>

#include "protocols/socks/arrival.h"
#include "relay/handoff.h"
#include "relay/worker.h"
#include "sys/net/socket_address.h"

namespace sluice::socks {

// What becomes of a client once the addresses of its destination are known (at least one, each with the port): on the
// worker, or on the handshake thread that asked for them. A plain function: it may run after a reload.
using Continuation = relay::Handoff (*)(std::vector<sys::SocketAddress> destinations, Arrival arrival);

// Gives the destination's addresses to `next`, and its hand-off to the worker. A destination that needs no name server
// (an address, a known name) is dealt with at once, any other on a thread of the handshake pool; a name without
// addresses, or a pool without room in time, is refused.
//
// Worker only.
void ResolveThen(relay::Worker& worker, Arrival arrival, Continuation next);

}  // namespace sluice::socks

#endif  // SLUICE_PROTOCOLS_SOCKS_RESOLVE_H_
