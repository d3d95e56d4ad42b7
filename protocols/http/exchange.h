#ifndef SLUICE_PROTOCOLS_HTTP_EXCHANGE_H_
#define SLUICE_PROTOCOLS_HTTP_EXCHANGE_H_

#include <cstdint>

#include "protocols/access/operation.h"
#include "protocols/accounting/result_code.h"
#include "protocols/accounting/traffic_record.h"
#include "protocols/auth/hearing.h"
#include "protocols/auth/judgement.h"
#include "protocols/http/answer.h"
#include "relay/session_observer.h"

namespace sluice::http {

// What has to be done for a client between its request and its session, whatever kind of session that will be.
//
// A client that is refused gets a session all the same, one that has nowhere to connect to: the engine gives it the
// answer, shuts down, and waits for it to have read (a plain close() would turn what it still sends into a reset, which
// destroys the answer).
//
// Threads: a handshake thread or the worker, whoever has it; one at a time.
class Exchange : public relay::SessionObserver {
 public:
  virtual accounting::TrafficRecord& record() = 0;
  // service::ExchangeObserver's.
  virtual void Note(const auth::Judgement& judgement, const auth::Hearing* hearing, access::Operation operation,
                    uint16_t port) = 0;
  // The session about to begin gives the client this answer and ends.
  virtual void RefuseWith(const Answer& answer, accounting::ResultCode result, accounting::Phase phase, int error) = 0;
};

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_EXCHANGE_H_
