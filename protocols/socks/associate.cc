#include "protocols/socks/associate.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "protocols/accounting/result_code.h"
#include "protocols/service/service_context.h"
#include "protocols/service/snapshot.h"
#include "protocols/socks/udp_exchange.h"
#include "relay/datagram/association.h"
#include "relay/datagram/udp_socket.h"
#include "sys/base/errno_or.h"
#include "sys/base/unique_fd.h"
#include "sys/net/socket_address.h"

namespace sluice::socks {
namespace {

// bind() takes some microseconds: what a worker may spend on looking for a free port.
constexpr int kMostPortsTried = 256;

// Where the client can send to: the address it has connected to. A client on a unix socket is on this machine.
sys::SocketAddress AddressFor(int client) {
  sys::SocketAddress address = sys::SocketAddress::OfSocket(client);
  if (!address.is_ip()) address = sys::SocketAddress::Loopback(sys::AddressFamily::kIpv4, 0);
  address.set_port(0);
  return address;
}

sys::ErrnoOr<sys::UniqueFd> OpenInRange(sys::SocketAddress address, const service::PortRange& range) {
  if (range.first == 0) return relay::OpenUdpSocket(address);
  // Which port comes next is a hint and no more: workers may meet at one and go on.
  static thread_local uint32_t next = 0;
  const uint32_t count = uint32_t{range.last} - range.first + 1;
  for (uint32_t tried = 0; tried < std::min<uint32_t>(count, kMostPortsTried); ++tried) {
    address.set_port(static_cast<uint16_t>(range.first + next++ % count));
    sys::ErrnoOr<sys::UniqueFd> fd = relay::OpenUdpSocket(address);
    if (fd.ok() || fd.error().code != EADDRINUSE) return fd;
  }
  return sys::Errno{EADDRINUSE};
}

void Refuse(relay::Worker& worker, Arrival arrival, int error) {
  worker.role().AssertHeld();
  worker.Adopt(Refusal(std::move(arrival), ReplyForErrno(error), accounting::result::kBindFailed,
                       accounting::Phase::kConnect, error));
}

}  // namespace

void Associate(relay::Worker& worker, Arrival arrival) {
  const service::ServiceContext& context = arrival.exchange->context();
  const service::ServiceOptions& options = *context.options;
  sys::ErrnoOr<sys::UniqueFd> socket = OpenInRange(AddressFor(arrival.client.get()), options.socks.udp_ports);
  if (!socket.ok()) return Refuse(worker, std::move(arrival), socket.error().code);
  sys::SocketAddress told = sys::SocketAddress::OfSocket(socket->get());
  if (options.socks.told_internal.has_value()) {
    const uint16_t port = told.port();
    told = *options.socks.told_internal;
    told.set_port(port);
  }
  const std::string reply = EncodeReply(arrival.request.version, ReplyCode::kSucceeded, told);
  if (send(arrival.client.get(), reply.data(), reply.size(), MSG_DONTWAIT | MSG_NOSIGNAL) !=
      static_cast<ssize_t>(reply.size())) {
    return arrival.exchange->Refuse(accounting::result::kClientWriteFailed, accounting::Phase::kHandshake, EAGAIN);
  }
  arrival.exchange->StopHandshakeClock();
  relay::AssociationHandoff handoff;
  handoff.control = std::move(arrival.client);
  handoff.client_socket = *std::move(socket);
  const sys::SocketAddress& client = arrival.exchange->record().client;
  if (client.is_ip()) handoff.client = client;
  handoff.outgoing = &context.outgoing;
  handoff.idle_nanos = options.timeouts.connection_long;
  handoff.admit_each = options.socks.log_each_destination && context.log != nullptr;
  handoff.admission = std::move(arrival.admission);
  handoff.observer = std::make_unique<UdpExchange>(std::move(arrival.exchange), &worker);
  worker.associations().Adopt(std::move(handoff));
}

}  // namespace sluice::socks
