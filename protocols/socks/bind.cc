#include "protocols/socks/bind.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "protocols/accounting/result_code.h"
#include "protocols/service/service_context.h"
#include "protocols/service/snapshot.h"
#include "protocols/socks/resolve.h"
#include "sys/base/errno_or.h"
#include "sys/base/unique_fd.h"
#include "sys/net/socket_address.h"
#include "sys/net/socket_options.h"

namespace sluice::socks {
namespace {

using sys::AddressFamily;
using sys::SocketAddress;

// Only one connection is wanted; strangers are turned away one after the other.
constexpr int kBacklog = 8;

int DomainOf(const SocketAddress& address) { return address.family() == AddressFamily::kIpv6 ? AF_INET6 : AF_INET; }

// Which of our addresses is used towards `peer`: the routes say, no packet is sent.
sys::ErrnoOr<SocketAddress> SourceTowards(SocketAddress peer) {
  if (peer.port() == 0) peer.set_port(1);
  sys::UniqueFd probe(socket(DomainOf(peer), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe.valid()) return sys::Errno{errno};
  sockaddr_storage storage;
  const socklen_t length = peer.ToSockaddr(storage);
  if (connect(probe.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0) return sys::Errno{errno};
  SocketAddress source = SocketAddress::OfSocket(probe.get());
  source.set_port(0);
  return source;
}

// The address that the port is opened on. `peer` is kNone when anybody may come: then where the client came in, which
// is at least reachable for somebody.
sys::ErrnoOr<SocketAddress> AddressFor(const SocketAddress& peer, const service::ServiceOptions& options, int client) {
  SocketAddress inside = SocketAddress::OfSocket(client);
  if (!inside.is_ip()) inside = SocketAddress::Any(AddressFamily::kIpv4, 0);
  const AddressFamily family = peer.is_ip() ? peer.family() : inside.family();
  const std::optional<SocketAddress>& external =
      family == AddressFamily::kIpv4 ? options.external_ipv4 : options.external_ipv6;
  if (external.has_value()) return *external;
  if (peer.is_ip()) return SourceTowards(peer);
  inside.set_port(0);
  return inside;
}

sys::ErrnoOr<sys::UniqueFd> Listen(const SocketAddress& address, const service::ServiceOptions& options) {
  sys::UniqueFd listener(socket(DomainOf(address), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener.valid()) return sys::Errno{errno};
  if (!options.outgoing_device.empty() && !sys::BindToDevice(listener.get(), options.outgoing_device).ok()) {
    return sys::Errno{EPERM};
  }
  // Inherited by the connection that comes.
  sys::SetNoDelay(listener.get(), true);
  sys::SetOobInline(listener.get());
  sys::ApplySocketOptions(listener.get(), options.upstream_socket_options).IgnoreError();
  sockaddr_storage storage;
  const socklen_t length = address.ToSockaddr(storage);
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0) return sys::Errno{errno};
  if (listen(listener.get(), kBacklog) != 0) return sys::Errno{errno};
  return listener;
}

relay::Handoff Failed(Arrival arrival, int error) {
  return Refusal(std::move(arrival), ReplyForErrno(error), accounting::result::kBindFailed, accounting::Phase::kConnect,
                 error);
}

relay::Handoff BindFor(std::vector<SocketAddress> peers, Arrival arrival) {
  const service::ServiceOptions& options = *arrival.exchange->context().options;
  if (peers.front().is_any()) peers.clear();
  const SocketAddress peer = peers.empty() ? SocketAddress() : peers.front();
  sys::ErrnoOr<SocketAddress> address = AddressFor(peer, options, arrival.client.get());
  if (!address.ok()) return Failed(std::move(arrival), address.error().code);
  sys::ErrnoOr<sys::UniqueFd> listener = Listen(*address, options);
  if (!listener.ok()) return Failed(std::move(arrival), listener.error().code);
  const std::string reply = arrival.exchange->AnswerConnected(listener->get());
  arrival.exchange->ExpectPeer();
  if (send(arrival.client.get(), reply.data(), reply.size(), MSG_DONTWAIT | MSG_NOSIGNAL) !=
      static_cast<ssize_t>(reply.size())) {
    return RefusalWith("", std::move(arrival), accounting::result::kClientWriteFailed, accounting::Phase::kHandshake,
                       EAGAIN);
  }
  relay::Handoff handoff = HandoffOf(std::move(arrival));
  handoff.plan.listener = *std::move(listener);
  handoff.plan.candidates = std::move(peers);
  return handoff;
}

}  // namespace

void Bind(relay::Worker& worker, Arrival arrival) { ResolveThen(worker, std::move(arrival), BindFor); }

}  // namespace sluice::socks
