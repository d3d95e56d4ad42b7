#include "protocols/socks/connect.h"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "protocols/accounting/result_code.h"
#include "protocols/service/original_destination.h"
#include "protocols/service/self_loops.h"
#include "protocols/service/service_context.h"
#include "protocols/socks/resolve.h"
#include "sys/net/socket_address.h"

namespace sluice::socks {
namespace {

bool LeadsToUs(const sys::SocketAddress& destination, const service::ServiceContext& context, int client) {
  if (context.own_proxies != nullptr && service::ReachesAny(destination, *context.own_proxies)) return true;
  // Where this client came in, if that is another address than the one that is listened on (a redirected port).
  return service::IsWhereItCameIn(destination, context.port, client);
}

relay::Handoff ConnectTo(std::vector<sys::SocketAddress> destinations, Arrival arrival) {
  const auto ours = std::find_if(destinations.begin(), destinations.end(), [&](const sys::SocketAddress& address) {
    return LeadsToUs(address, arrival.exchange->context(), arrival.client.get());
  });
  if (ours != destinations.end()) {
    arrival.exchange->record().upstream = *ours;
    return Refusal(std::move(arrival), ReplyCode::kNotAllowed, accounting::result::kLoop, accounting::Phase::kConnect,
                   ELOOP);
  }
  relay::Handoff handoff = HandoffOf(std::move(arrival));
  handoff.plan.candidates = std::move(destinations);
  return handoff;
}

}  // namespace

void Connect(relay::Worker& worker, Arrival arrival) {
  const service::ServiceContext& context = arrival.exchange->context();
  if (arrival.request.address.is_any()) {
    const auto destination = service::OriginalDestination(arrival.client.get(), context.port);
    if (!destination.has_value()) {
      worker.role().AssertHeld();
      return worker.Adopt(Refusal(std::move(arrival), ReplyCode::kNotAllowed, accounting::result::kLoop,
                                  accounting::Phase::kConnect, ELOOP));
    }
    arrival.request.host.clear();
    arrival.request.address = *destination;
    arrival.request.port = destination->port();
    arrival.exchange->Note(arrival.request);
  }
  ResolveThen(worker, std::move(arrival), ConnectTo);
}

}  // namespace sluice::socks
