#ifndef SLUICE_PROTOCOLS_AUTH_REVIEW_H_
#define SLUICE_PROTOCOLS_AUTH_REVIEW_H_

#include <cstdint>

#include "protocols/access/operation.h"
#include "protocols/access/request_facts.h"
#include "protocols/auth/gate.h"
#include "protocols/auth/identity.h"
#include "protocols/auth/judgement.h"
#include "relay/session_observer.h"

namespace sluice::auth {

// What a session keeps of the judgement that let it in, beside what its access record has. Held by every connection.
struct Standing {
  uint16_t port = 0;  // of the target
  access::Operation operation = access::Operation::kConnect;
  Proof proof = Proof::kNone;
};

// Judges another request of a client that `before` has let in, without asking anybody: by what was found out then, if
// it still holds. Never blocks. Thread-safe.
Judgement JudgeKnown(const Gate& before, const Gate& now, Proof proof, const access::RequestFacts& facts, Stage stage,
                     int64_t began_wall_nanos);

// Judges a session again that `before` has let in, by what counts now (CurrentGate). Nobody can be asked any more: a
// password that was right counts as long as it is the one that the user has; a host name as it was found; under `auth
// strong` and the like nobody else is let in.
//
// `facts`: user, client, host, target, port and operation as the session was let in with. Pure but for reading the two;
// never blocks. Thread-safe.
relay::Review ReviewSession(const Gate& before, const Gate& now, Proof proof, const access::RequestFacts& facts,
                            int64_t began_wall_nanos);

}  // namespace sluice::auth

#endif  // SLUICE_PROTOCOLS_AUTH_REVIEW_H_
