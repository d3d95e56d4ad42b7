#ifndef SLUICE_PROTOCOLS_SERVICE_TLS_UPSTREAM_H_
#define SLUICE_PROTOCOLS_SERVICE_TLS_UPSTREAM_H_

#include <functional>
#include <memory>
#include <string>

#include "protocols/service/service_context.h"
#include "relay/handoff.h"
#include "relay/worker.h"

namespace sluice::service {

// `ssl_cli`: we speak TLS to upstreams.

// Told why TLS with an upstream failed: a sentence for people.
using FaultSink = std::function<void(const std::string&)>;

// Where the service speaks TLS to its upstreams and `handoff` has candidates: connects to one of them and does the
// handshake with it, so that the hand-off has a connected upstream; `host` is what its certificate must say (a name,
// or the text of an address). The observer hears of connections, and its answer to the client goes with the hand-off.
// What fails leaves a hand-off without candidates, which ends as a connect that failed (EPROTO where it was TLS).
// Does nothing to other hand-offs.
//
// All candidates have CONNECT together, a handshake has STRING_SHORT. Handshake thread only (may block).
void SecureUpstream(const ServiceContext& context, const std::string& host, relay::Handoff& handoff,
                    const FaultSink& fault = nullptr);

// Starts the session: at once, or over a thread of the handshake pool where SecureUpstream() has something to do.
// `context` is kept alive by the observer. Worker only.
void AdoptSecured(relay::Worker& worker, const ServiceContext& context, std::string host, relay::Handoff handoff,
                  FaultSink fault = nullptr);

}  // namespace sluice::service

#endif  // SLUICE_PROTOCOLS_SERVICE_TLS_UPSTREAM_H_
