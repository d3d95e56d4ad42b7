#ifndef SLUICE_PROTOCOLS_SOCKS_RESOLVE_H_
#define SLUICE_PROTOCOLS_SOCKS_RESOLVE_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "protocols/dns/question.h"
#include "protocols/service/snapshot.h"
#include "protocols/socks/arrival.h"
#include "relay/handoff.h"
#include "relay/worker.h"
#include "sys/net/socket_address.h"

namespace sluice::socks {

// The question for the addresses that this service would connect to. Pure.
dns::Query QueryFor(absl::string_view name, const service::ServiceOptions& options);

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
