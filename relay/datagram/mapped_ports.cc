#include "relay/datagram/mapped_ports.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "relay/datagram/udp_socket.h"
#include "relay/session_table.h"

namespace sluice::relay {

MappedPorts::MappedPorts(Worker* worker, sys::Loop* loop, TokenMaker make_token, sys::MonotonicNanos now)
    : worker_(worker), loop_(loop), make_token_(make_token), now_(now), wheel_(TickOf(now)) {}

MappedPorts::~MappedPorts() = default;

MappedPorts::Port* MappedPorts::FindPort(Id id) {
  for (const std::unique_ptr<Port>& port : ports_) {
    if (port->used && !port->closing && port->id == id) return port.get();
  }
  return nullptr;
}

MappedPorts::Client* MappedPorts::FindClient(uint32_t slot, uint32_t generation) {
  if (slot >= clients_.size()) return nullptr;
  Client& client = *clients_[slot];
  return client.used && client.generation == generation ? &client : nullptr;
}

int64_t MappedPorts::Add(Id id, sys::UniqueFd socket, std::shared_ptr<MappedPortHandler> handler) {
  if (receive_ == nullptr) {
    receive_ = std::make_unique<ReceiveBatch>();
    send_ = std::make_unique<SendBatch>(&stats_);
  }
  const sys::SocketAddress bound = sys::SocketAddress::OfSocket(socket.get());
  PrepareUdpSocket(socket.get());
  if (bound.is_any()) ReceiveBatch::EnableTarget(socket.get(), bound.family());
  auto unused = std::find_if(ports_.begin(), ports_.end(), [](const auto& port) { return !port->used; });
  if (unused == ports_.end()) {
    ports_.push_back(std::make_unique<Port>());
    ports_.back()->slot = static_cast<uint32_t>(ports_.size() - 1);
    unused = ports_.end() - 1;
  }
  Port& port = **unused;
  const int64_t watch =
      loop_->Watch(socket.get(), make_token_(port.slot, port.generation, true), sys::Loop::Interest::kRead);
  if (watch < 0) return watch;
  port.used = true;
  port.id = id;
  port.fd = std::move(socket);
  port.watch = static_cast<sys::Loop::WatchId>(watch);
  port.handler = std::move(handler);
  return 0;
}

void MappedPorts::SetHandler(Id id, std::shared_ptr<MappedPortHandler> handler) {
  if (Port* port = FindPort(id)) port->handler = std::move(handler);
}

void MappedPorts::Close(Id id, std::function<void()> closed) {
  Port* port = FindPort(id);
  if (port == nullptr) return closed();
  while (port->oldest != kNil) End(*clients_[port->oldest], EndCode::kShutDown, EndSide::kUs, 0);
  for (const std::unique_ptr<Client>& client : clients_) {  // those for one datagram are in no list
    if (client->used && client->port == port->slot) End(*client, EndCode::kShutDown, EndSide::kUs, 0);
  }
  port->closing = true;
  port->closed = std::move(closed);
  loop_->Release(port->watch);
}

void MappedPorts::OnPortEvent(uint32_t slot, uint32_t generation, uint16_t ready) {
  if (slot >= ports_.size()) return;
  Port& port = *ports_[slot];
  if (!port.used || port.generation != generation) return;
  if ((ready & sys::Loop::kReleased) != 0) {
    const std::function<void()> closed = std::move(port.closed);
    port = Port();
    port.slot = slot;
    port.generation = (generation + 1) & SessionTable::kGenerationMask;
    return closed();
  }
  if (port.closing) return;
  port.readable = true;
  ReadPort(port);
}

void MappedPorts::ReadPort(Port& port) {
  evicted_ = false;
  for (int calls = 0; port.readable; ++calls) {
    // The sockets of those that made room live until the loop lets go of them: in a flood the rest waits for that, so
    // that descriptors stay near the bound.
    if (calls == kReceivesPerTurn || evicted_) return ready_ports_.push_back(port.slot);
    stats_.receive_calls.Increment();
    const int count = receive_->Receive(port.fd.get());
    // The call would have gone on if there were more; what comes now is told by another event.
    if (count >= 0 && count < ReceiveBatch::kMessages) port.readable = false;
    if (count <= 0) continue;
    receive_->ForEach([&](absl::string_view datagram, const sys::SocketAddress& from, const sys::SocketAddress& to) {
      FromClient(port, datagram, from, to);
    });
    send_->Flush();
  }
}

void MappedPorts::FromClient(Port& port, absl::string_view datagram, const sys::SocketAddress& from,
                             const sys::SocketAddress& to) {
  stats_.received.Increment();
  const auto known = port.clients.find(from);
  Client* client = known != port.clients.end() ? clients_[known->second].get() : NewClient(port, from);
  if (client == nullptr) return stats_.dropped_no_resource.Increment();
  client->active_tick = TickOf(now_);
  client->local = to;  // the same client may send to another of our addresses
  client->report.bytes_from_client += static_cast<int64_t>(datagram.size());
  if (!client->single) {
    Unlink(port, *client);
    LinkNewest(port, *client);
  }
  if (client->fd.valid()) return send_->Add(client->fd.get(), {}, "", datagram);
  if (client->parked.size() >= kMostParked || client->parked_bytes + datagram.size() > kMostParkedBytes) {
    return stats_.dropped_parked.Increment();
  }
  client->parked.emplace_back(datagram);
  client->parked_bytes += datagram.size();
}

void MappedPorts::Resolved(const DatagramTicket& ticket, const sys::SocketAddress& target) {
  Client* client = FindClient(ticket.slot, ticket.generation);
  if (client == nullptr || client->ending || client->fd.valid()) return;
  if (!target.is_ip()) {
    stats_.dropped_denied.Add(static_cast<int64_t>(client->parked.size()));
    return End(*client, EndCode::kConnectFailed, EndSide::kUpstream, EHOSTUNREACH);
  }
  if (!Connect(*client, target)) return;
  const std::vector<std::string> parked = std::move(client->parked);
  client->parked.clear();
  for (const std::string& datagram : parked) send_->Add(client->fd.get(), {}, "", datagram);
  send_->Flush();
}

void MappedPorts::OnClientEvent(uint32_t slot, uint32_t generation, uint16_t ready) {
  Client* client = FindClient(slot, generation);
  if (client == nullptr) return;
  if ((ready & sys::Loop::kReleased) != 0) {
    client->watched = false;
    client->fd.reset();
    return FreeIfReleased(*client);
  }
  if (client->ending) return;
  client->readable = true;
  if (ReadClient(*client)) ready_clients_.push_back(KeyOf(*client));
}

// Answers of the target. True: there may be more.
bool MappedPorts::ReadClient(Client& client) {
  const Port& port = *ports_[client.port];
  for (int calls = 0; client.readable; ++calls) {
    if (calls == kReceivesPerTurn) return true;
    stats_.receive_calls.Increment();
    const int count = receive_->Receive(client.fd.get());
    if (count >= 0 && count < ReceiveBatch::kMessages) client.readable = false;
    if (count <= 0) continue;
    int64_t datagrams = 0;
    receive_->ForEach([&](absl::string_view datagram, const sys::SocketAddress&) {
      if (client.single && datagrams > 0) return;
      ++datagrams;
      client.report.bytes_from_upstream += static_cast<int64_t>(datagram.size());
      send_->Add(port.fd.get(), client.address, "", datagram, client.local);
    });
    stats_.received.Add(datagrams);
    client.active_tick = TickOf(now_);
    send_->Flush();
    if (client.single) {
      End(client, EndCode::kFinished, EndSide::kUpstream, 0);
      return false;
    }
  }
  return false;
}

void MappedPorts::End(Client& client, EndCode code, EndSide side, int error) {
  if (client.ending) return;
  client.ending = true;
  wheel_.Disarm(client.slot);
  send_->Flush();  // what was added for its socket
  Port& port = *ports_[client.port];
  if (!client.single) {
    port.clients.erase(client.address);
    Unlink(port, client);
  }
  client.report.reason = {code, side, error};
  client.report.ended = now_;
  client.observer->OnEnd(client.report);
  // The place is free although the socket lives for another turn.
  client.admission.Return();
  if (client.watched) loop_->Release(client.watch);
  FreeIfReleased(client);
}

void MappedPorts::FreeIfReleased(Client& client) {
  if (!client.ending || client.watched) return;
  const uint32_t slot = client.slot;
  const uint32_t generation = (client.generation + 1) & SessionTable::kGenerationMask;
  client = Client();
  client.slot = slot;
  client.generation = generation;
  free_.push_back(slot);
  --running_;
  stats_.running.Add(-1);
}

void MappedPorts::Unlink(Port& port, Client& client) {
  if (client.older != kNil) clients_[client.older]->newer = client.newer;
  if (client.newer != kNil) clients_[client.newer]->older = client.older;
  if (port.oldest == client.slot) port.oldest = client.newer;
  if (port.newest == client.slot) port.newest = client.older;
  client.older = client.newer = kNil;
}

void MappedPorts::LinkNewest(Port& port, Client& client) {
  client.older = port.newest;
  if (port.newest != kNil) clients_[port.newest]->newer = client.slot;
  port.newest = client.slot;
  if (port.oldest == kNil) port.oldest = client.slot;
}

void MappedPorts::AdvanceTo(sys::MonotonicNanos now) {
  now_ = now;
  due_.clear();
  wheel_.Advance(TickOf(now), due_);
  for (const uint32_t slot : due_) {
    Client& client = *clients_[slot];
    if (!client.used || client.ending) continue;
    const uint32_t deadline = IdleDeadline(client);
    if (static_cast<int32_t>(deadline - TickOf(now_)) > 0) {
      wheel_.Arm(slot, deadline);
    } else {
      // The usual end of a protocol that has none.
      End(client, client.report.bytes_from_upstream > 0 ? EndCode::kFinished : EndCode::kIdleTimeout, EndSide::kUs, 0);
    }
  }
}

void MappedPorts::RunReady() {
  const std::vector<uint32_t> ports = std::exchange(ready_ports_, {});
  for (const uint32_t slot : ports) {
    if (ports_[slot]->used && !ports_[slot]->closing) ReadPort(*ports_[slot]);
  }
  const std::vector<uint64_t> clients = std::exchange(ready_clients_, {});
  for (const uint64_t key : clients) {
    Client* client = FindClient(static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32));
    if (client != nullptr && !client->ending && ReadClient(*client)) ready_clients_.push_back(key);
  }
}

uint32_t MappedPorts::IdleDeadline(const Client& client) {
  return client.active_tick + static_cast<uint32_t>(client.idle_nanos / sys::kNanosPerMilli) + 1;
}

int64_t MappedPorts::NanosToNext(sys::MonotonicNanos now) const {
  if (!ready_ports_.empty() || !ready_clients_.empty()) return 0;
  const int64_t ticks = wheel_.TicksToNext();
  if (ticks < 0) return -1;
  return std::max<int64_t>(0, now_ - now_ % sys::kNanosPerMilli + ticks * sys::kNanosPerMilli - now);
}

void MappedPorts::EndAll(EndCode code) {
  for (const std::unique_ptr<Client>& client : clients_) {
    if (client->used) End(*client, code, EndSide::kUs, 0);
  }
}

uint32_t MappedPorts::Review(uint32_t slot, uint32_t most, ReviewTally& tally) {
  const uint32_t all = static_cast<uint32_t>(clients_.size());
  const uint32_t end = std::min(all, slot + most);
  for (; slot < end; ++slot) {
    Client& client = *clients_[slot];
    if (!client.used || client.ending) continue;
    const relay::Review review = client.observer->OnReview();
    tally.Count(review);
    if (review == relay::Review::kRevoked) End(client, EndCode::kRevoked, EndSide::kUs, 0);
  }
  return slot < all ? slot : 0;
}

}  // namespace sluice::relay
