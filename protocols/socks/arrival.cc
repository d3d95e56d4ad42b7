#include "protocols/socks/arrival.h"

#include <utility>

#include "protocols/service/service_context.h"
#include "protocols/service/snapshot.h"

namespace sluice::socks {

relay::Handoff HandoffOf(Arrival arrival) {
  const service::ServiceContext& context = arrival.exchange->context();
  arrival.exchange->StopHandshakeClock();
  relay::Handoff handoff;
  handoff.client = std::move(arrival.client);
  handoff.client_is_tcp = context.clients_are_tcp;
  handoff.client_transform = std::move(arrival.transform);
  handoff.from_client = std::move(arrival.payload);
  handoff.plan.outgoing = &context.outgoing;
  handoff.options = &context.options->relay;
  handoff.observer = std::move(arrival.exchange);
  handoff.admission = std::move(arrival.admission);
  return handoff;
}

relay::Handoff Refusal(Arrival arrival, ReplyCode code, accounting::ResultCode result, accounting::Phase phase,
                       int error) {
  std::string answer = EncodeReply(arrival.request.version, code);
  return RefusalWith(std::move(answer), std::move(arrival), result, phase, error);
}

relay::Handoff RefusalWith(std::string answer, Arrival arrival, accounting::ResultCode result, accounting::Phase phase,
                           int error) {
  arrival.exchange->RefuseInSession(std::move(answer), result, phase, error);
  arrival.payload.clear();  // it was meant for somebody else
  return HandoffOf(std::move(arrival));
}

}  // namespace sluice::socks
