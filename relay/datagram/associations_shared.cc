// Associations whose clients all send to one port.

#include <algorithm>
#include <utility>

#include "relay/datagram/associations.h"
#include "relay/datagram/udp_socket.h"
#include "relay/session_table.h"

namespace sluice::relay {
namespace {

sys::SocketAddress WithoutPort(sys::SocketAddress address) {
  address.set_port(0);
  return address;
}

}  // namespace

Associations::SharedPort* Associations::FindShared(const sys::SocketAddress& address) {
  for (const std::unique_ptr<SharedPort>& port : shared_) {
    if (port->socket.watched && !port->closing && port->address == address) return port.get();
  }
  return nullptr;
}

int64_t Associations::Share(const sys::SocketAddress& address, sys::UniqueFd socket) {
  PrepareUdpSocket(socket.get());
  if (address.is_any()) ReceiveBatch::EnableTarget(socket.get(), address.family());
  auto unused = std::find_if(shared_.begin(), shared_.end(), [](const auto& port) { return !port->socket.watched; });
  if (unused == shared_.end()) {
    shared_.push_back(std::make_unique<SharedPort>());
    shared_.back()->slot = static_cast<uint32_t>(shared_.size() - 1);
    unused = shared_.end() - 1;
  }
  SharedPort& port = **unused;
  const int64_t watch =
      loop_->Watch(socket.get(), make_token_(port.slot, port.generation, kSharedSocket), sys::Loop::Interest::kRead);
  if (watch < 0) return watch;
  port.address = address;
  port.users = 1;
  port.socket.fd = std::move(socket);
  port.socket.watch = static_cast<sys::Loop::WatchId>(watch);
  port.socket.watched = true;
  return 0;
}

void Associations::Unshare(const sys::SocketAddress& address) {
  if (SharedPort* port = FindShared(address); port != nullptr) DropUser(*port);
}

void Associations::DropUser(SharedPort& port) {
  if (--port.users > 0) return;
  port.closing = true;
  loop_->Release(port.socket.watch);
}

void Associations::JoinShared(Association& association, SharedPort& port) {
  association.shared = &port;
  ++port.users;
  port.waiting[WithoutPort(association.handoff.client)].push_back(association.slot);
}

void Associations::LeaveShared(Association& association) {
  if (association.shared == nullptr) return;
  SharedPort& port = *association.shared;
  if (association.locked) {
    port.clients.erase(association.handoff.client);
  } else if (const auto waiting = port.waiting.find(WithoutPort(association.handoff.client));
             waiting != port.waiting.end()) {
    std::vector<uint32_t>& slots = waiting->second;
    slots.erase(std::remove(slots.begin(), slots.end(), association.slot), slots.end());
    if (slots.empty()) port.waiting.erase(waiting);
  }
  DropUser(port);
}

void Associations::OnSharedEvent(uint32_t slot, uint32_t generation, uint16_t ready) {
  if (slot >= shared_.size()) return;
  SharedPort& port = *shared_[slot];
  if (!port.socket.watched || port.generation != generation) return;
  if ((ready & sys::Loop::kReleased) != 0) {
    port = SharedPort();
    port.slot = slot;
    port.generation = (generation + 1) & SessionTable::kGenerationMask;
    return;
  }
  if (port.closing) return;
  port.socket.readable = true;
  ReadShared(port);
}

void Associations::ReadShared(SharedPort& port) {
  MakeBatches();
  for (int calls = 0; port.socket.readable; ++calls) {
    if (calls == kReceivesPerTurn) {
      if (!port.ready_listed) ready_shared_.push_back(port.slot);
      port.ready_listed = true;
      return;
    }
    stats_.receive_calls.Increment();
    const int count = receive_->Receive(port.socket.fd.get());
    if (count >= 0 && count < ReceiveBatch::kMessages) port.socket.readable = false;
    if (count <= 0) continue;
    receive_->ForEach([&](absl::string_view datagram, const sys::SocketAddress& from, const sys::SocketAddress& to) {
      stats_.received.Increment();
      Association* association = ClientOf(port, from);
      if (association == nullptr) return stats_.dropped_foreign.Increment();
      association->local = to;
      Relay(*association, datagram);
    });
    send_->Flush();
  }
}

// Whose datagram it is: of the client whose port is known, or else of the first from its address that has none yet.
Associations::Association* Associations::ClientOf(SharedPort& port, const sys::SocketAddress& from) {
  if (const auto known = port.clients.find(from); known != port.clients.end()) {
    return associations_[known->second].get();
  }
  auto waiting = port.waiting.find(WithoutPort(from));
  if (waiting == port.waiting.end()) waiting = port.waiting.find(sys::SocketAddress());
  if (waiting == port.waiting.end()) return nullptr;
  Association& association = *associations_[waiting->second.front()];
  waiting->second.erase(waiting->second.begin());
  if (waiting->second.empty()) port.waiting.erase(waiting);
  association.handoff.client = from;
  association.locked = true;
  port.clients.emplace(from, association.slot);
  return &association;
}

}  // namespace sluice::relay
