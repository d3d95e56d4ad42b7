#ifndef SLUICE_PROTOCOLS_SOCKS_CONNECT_H_
#define SLUICE_PROTOCOLS_SOCKS_CONNECT_H_

#include "protocols/socks/arrival.h"
#include "relay/worker.h"

namespace sluice::socks {

// CONNECT: starts the session of a client whose request is whole. Where the destination is an address, or a name whose
// addresses are known without asking, that happens here and now, and the worker connects; else a handshake thread asks
// the name servers first. The reply is the exchange's, once the worker has connected or has failed to.
//
// With `-T`, a request for 0.0.0.0 or :: is one for where the client was going when it was redirected to us.
//
// Refused: names that do not resolve, and destinations at which we listen for clients who name their own destinations
// (each such connection would come back to us).
//
// Worker only.
void Connect(relay::Worker& worker, Arrival arrival);

}  // namespace sluice::socks

#endif  // SLUICE_PROTOCOLS_SOCKS_CONNECT_H_
