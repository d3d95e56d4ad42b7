// How a client of a mapped port comes to have a session.

#include <sys/socket.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "relay/datagram/mapped_ports.h"
#include "relay/datagram/udp_socket.h"
#include "sys/base/errno_or.h"

namespace sluice::relay {

// A place in the budget: a free one, or that of the client that has been silent for longest.
bool MappedPorts::TakePlace(Port& port, Admission& admission) {
  if (port.handler->budget().TryTake()) {
    admission = Admission(&port.handler->budget());
    return true;
  }
  if (port.oldest == kNil) return false;
  Client& oldest = *clients_[port.oldest];
  admission = std::move(oldest.admission);
  End(oldest, EndCode::kLimitReached, EndSide::kUs, 0);
  evicted_ = true;
  return true;
}

MappedPorts::Client* MappedPorts::NewClient(Port& port, const sys::SocketAddress& from) {
  Admission admission;
  if (!TakePlace(port, admission)) return nullptr;
  Client& client = Allocate();
  std::optional<MappedPortHandler::Client> wanted =
      port.handler->OnClient(*worker_, from, {client.slot, client.generation, 0});
  if (!wanted.has_value()) {
    client.used = false;
    free_.push_back(client.slot);
    return nullptr;
  }
  client.port = port.slot;
  client.address = from;
  client.handler = port.handler;
  client.observer = std::move(wanted->observer);
  client.admission = std::move(admission);
  client.single = port.handler->single();
  client.idle_nanos = port.handler->idle_nanos();
  client.active_tick = TickOf(now_);
  client.report.started = now_;
  ++running_;
  stats_.running.Add(1);
  wheel_.Arm(client.slot, IdleDeadline(client));
  if (!client.single) {
    port.clients.emplace(from, client.slot);
    LinkNewest(port, client);
  }
  if (wanted->target.has_value() && !Connect(client, *wanted->target)) return nullptr;
  return &client;
}

MappedPorts::Client& MappedPorts::Allocate() {
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(clients_.size()));
    clients_.push_back(std::make_unique<Client>());
    clients_.back()->slot = free_.back();
    wheel_.Reserve(static_cast<uint32_t>(clients_.size()));
  }
  Client& client = *clients_[free_.back()];
  free_.pop_back();
  client.used = true;
  return client;
}

// False: the session is over.
bool MappedPorts::Connect(Client& client, const sys::SocketAddress& target) {
  sys::ErrnoOr<sys::UniqueFd> fd = OpenOutgoingUdpSocket(target.family(), client.handler->outgoing());
  int error = fd.ok() ? 0 : fd.error().code;
  if (error == 0) {
    sockaddr_storage storage;
    const socklen_t length = target.ToSockaddr(storage);
    if (connect(fd->get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0) error = errno;
  }
  if (error == 0) {
    const int64_t watch =
        loop_->Watch(fd->get(), make_token_(client.slot, client.generation, false), sys::Loop::Interest::kRead);
    if (watch >= 0) {
      client.fd = *std::move(fd);
      client.watch = static_cast<sys::Loop::WatchId>(watch);
      client.watched = true;
      client.observer->OnConnected(client.fd.get(), target);
      return true;
    }
    error = static_cast<int>(-watch);
  }
  End(client, EndCode::kConnectFailed, EndSide::kUpstream, error);
  return false;
}

}  // namespace sluice::relay
