#ifndef SLUICE_PROTOCOLS_SOCKS_ARRIVAL_H_
#define SLUICE_PROTOCOLS_SOCKS_ARRIVAL_H_

#include <memory>
#include <string>

#include "protocols/accounting/result_code.h"
#include "protocols/auth/hearing.h"
#include "protocols/socks/exchange.h"
#include "protocols/socks/reply.h"
#include "protocols/socks/wire.h"
#include "relay/connection_budget.h"
#include "relay/handoff.h"
#include "relay/transform.h"
#include "sys/base/unique_fd.h"

namespace sluice::socks {

// A client whose request is known, on its way to being a session. Thread-compatible; move-only.
struct Arrival {
  sys::UniqueFd client;
  relay::Admission admission;
  std::unique_ptr<Exchange> exchange;
  Request request;
  std::string payload;                                    // came behind the request
  std::unique_ptr<relay::Transform> transform = nullptr;  // of a client that speaks TLS to us
  std::unique_ptr<auth::Hearing> hearing = nullptr;       // null: everybody may
};

// The session of this client, with its payload, whose upstream or plan is still to be filled in.
relay::Handoff HandoffOf(Arrival arrival);

// The session that tells the client so and ends; `answer` in place of a reply where the handshake has made it already.
relay::Handoff Refusal(Arrival arrival, ReplyCode code, accounting::ResultCode result, accounting::Phase phase,
                       int error = 0);
relay::Handoff RefusalWith(std::string answer, Arrival arrival, accounting::ResultCode result, accounting::Phase phase,
                           int error = 0);

}  // namespace sluice::socks

#endif  // SLUICE_PROTOCOLS_SOCKS_ARRIVAL_H_
