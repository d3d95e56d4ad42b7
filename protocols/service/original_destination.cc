#include "protocols/service/original_destination.h"

#include "protocols/service/self_loops.h"
#include "sys/net/redirected.h"

namespace sluice::service {

std::optional<sys::SocketAddress> OriginalDestination(int client, uint16_t port) {
  const sys::SocketAddress local = sys::SocketAddress::OfSocket(client);
  std::optional<sys::SocketAddress> tracked;
  if (local.is_ip() && local.port() == port) tracked = sys::RedirectedFrom(client);
  return ChooseDestination(local, tracked, port, IsOfThisMachine);
}

}  // namespace sluice::service
