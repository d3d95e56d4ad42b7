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

// Gives the destination's addresses, those that the client may connect to, to `next`, and its hand-off to the worker.
// Where nobody has to be asked (an address or a known name, no password that takes time), that happens at once, else on
// a thread of the handshake pool. Refused: whom the rules deny, a name without addresses, a pool without room in time.
//
// Worker only.
void ResolveThen(relay::Worker& worker, Arrival arrival, Continuation next);

}  // namespace sluice::socks

#endif  // SLUICE_PROTOCOLS_SOCKS_RESOLVE_H_
