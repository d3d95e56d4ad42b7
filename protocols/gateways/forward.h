#ifndef SLUICE_PROTOCOLS_GATEWAYS_FORWARD_H_
#define SLUICE_PROTOCOLS_GATEWAYS_FORWARD_H_

#include <memory>
#include <string>

#include "protocols/accounting/result_code.h"
#include "protocols/auth/hearing.h"
#include "protocols/gateways/client_exchange.h"
#include "protocols/service/snapshot.h"
#include "relay/connection_budget.h"
#include "relay/worker.h"
#include "sys/base/unique_fd.h"

namespace sluice::gateways {

// A client of a gateway on its way to being a session. Thread-compatible; move-only.
struct Arrival {
  sys::UniqueFd client;
  relay::Admission admission;
  std::unique_ptr<ClientExchange> exchange;
  std::string from_client;  // read already, goes first to the upstream
  // What the client is told when it is refused here; may be empty.
  std::string not_resolved_answer;
  std::string loop_answer;
  std::string denied_answer;
  std::unique_ptr<auth::Hearing> hearing;  // Forward()'s
};

// Connects the client with whom it is for. An address, or a name whose addresses are known without asking, is dealt
// with at once, any other name on a thread of the handshake pool.
//
// Refused: whom the rules deny, names that do not resolve, and destinations at which we listen for clients who name
// their own destinations (each such connection would come back to us).
//
// Worker only.
void Forward(relay::Worker& worker, Arrival arrival, service::RelayTarget to);

// Ends the client in order: with a last word, which may be empty, and the record.
//
// Worker only.
void Refuse(relay::Worker& worker, Arrival arrival, std::string answer, accounting::ResultCode result,
            accounting::Phase phase, int error);

}  // namespace sluice::gateways

#endif  // SLUICE_PROTOCOLS_GATEWAYS_FORWARD_H_
