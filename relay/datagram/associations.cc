#include "relay/datagram/associations.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "relay/session_table.h"

namespace sluice::relay {

Associations::Associations(sys::Loop* loop, TokenMaker make_token, sys::MonotonicNanos now)
    : loop_(loop), make_token_(make_token), now_(now), wheel_(TickOf(now)) {}

Associations::~Associations() = default;

Associations::Association* Associations::Find(uint32_t slot, uint32_t generation) {
  if (slot >= associations_.size()) return nullptr;
  Association& association = *associations_[slot];
  return association.used && association.generation == generation ? &association : nullptr;
}

void Associations::MakeBatches() {
  if (receive_ != nullptr) return;
  receive_ = std::make_unique<ReceiveBatch>();
  send_ = std::make_unique<SendBatch>(&stats_);
}

Associations::Association* Associations::Allocate() {
  MakeBatches();
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(associations_.size()));
    associations_.push_back(std::make_unique<Association>());
    associations_.back()->slot = free_.back();
    wheel_.Reserve(static_cast<uint32_t>(associations_.size()));
  }
  Association& association = *associations_[free_.back()];
  free_.pop_back();
  association.used = true;
  return &association;
}

void Associations::Adopt(AssociationHandoff handoff) {
  Association& association = *Allocate();
  ++running_;
  stats_.running.Add(1);
  association.report.started = now_;
  association.active_tick = TickOf(now_);
  association.handoff = std::move(handoff);
  wheel_.Arm(association.slot, IdleDeadline(association));
  if (!Watch(association, kControl, std::move(association.handoff.control))) return;
  if (!association.handoff.client_socket.valid()) {
    SharedPort* port = FindShared(association.handoff.shared_port);
    if (port == nullptr) return End(association, EndCode::kNoResources, EndSide::kUs, EBADF);
    return JoinShared(association, *port);
  }
  Watch(association, kClient, std::move(association.handoff.client_socket));
}

// False: the association is over.
bool Associations::Watch(Association& association, int which, sys::UniqueFd fd) {
  Socket& socket = association.sockets[which];
  socket.fd = std::move(fd);
  const int64_t watch = loop_->Watch(socket.fd.get(), make_token_(association.slot, association.generation, which),
                                     sys::Loop::Interest::kRead);
  if (watch < 0) {
    socket.fd.reset();
    End(association, EndCode::kNoResources, EndSide::kUs, static_cast<int>(-watch));
    return false;
  }
  socket.watch = static_cast<sys::Loop::WatchId>(watch);
  socket.watched = true;
  ++association.watches;
  return true;
}

void Associations::OnEvent(uint32_t slot, uint32_t generation, int which, uint16_t ready) {
  if (which == kSharedSocket) return OnSharedEvent(slot, generation, ready);
  Association* found = Find(slot, generation);
  if (found == nullptr) return;
  Association& association = *found;
  Socket& socket = association.sockets[which];
  if ((ready & sys::Loop::kReleased) != 0) {
    socket.fd.reset();
    socket.watched = false;
    --association.watches;
    return FreeIfReleased(association);
  }
  if (association.ending) return;
  // An error of a UDP socket is read like a datagram; that of the control connection is its end.
  socket.readable = true;
  Pump(association);
}

// Reads what there is, control first: nothing is relayed for a client that is gone.
void Associations::Pump(Association& association) {
  if (association.sockets[kControl].readable) ReadControl(association);
  if (association.ending) return;
  bool more = ReadClient(association);
  for (const int which : {kUpstream4, kUpstream6}) more = ReadUpstream(association, which) || more;
  if (more) MakeReady(association);
}

// Bytes there have no meaning and are thrown away.
void Associations::ReadControl(Association& association) {
  Socket& socket = association.sockets[kControl];
  char buffer[512];
  for (int reads = 0; reads < kReceivesPerTurn; ++reads) {
    const ssize_t count = recv(socket.fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (count > 0 || (count < 0 && errno == EINTR)) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      socket.readable = false;
      return;
    }
    if (count == 0) return End(association, EndCode::kFinished, EndSide::kClient, 0);
    return End(association, EndCode::kReadFailed, EndSide::kClient, errno);
  }
  MakeReady(association);
}

// True: there may be more.
bool Associations::ReadClient(Association& association) {
  Socket& socket = association.sockets[kClient];
  for (int calls = 0; socket.readable; ++calls) {
    if (calls == kReceivesPerTurn) return true;
    stats_.receive_calls.Increment();
    const int count = receive_->Receive(socket.fd.get());
    // The call would have gone on if there were more; what comes now is told by another event.
    if (count >= 0 && count < ReceiveBatch::kMessages) socket.readable = false;
    if (count <= 0) continue;
    receive_->ForEach(
        [&](absl::string_view datagram, const sys::SocketAddress& from) { FromClient(association, datagram, from); });
    send_->Flush();
  }
  return false;
}

bool Associations::ReadUpstream(Association& association, int which) {
  Socket& socket = association.sockets[which];
  const bool shared = association.shared != nullptr;
  const int client = shared ? association.shared->socket.fd.get() : association.sockets[kClient].fd.get();
  // Its own socket is connected to the client.
  const sys::SocketAddress to = shared ? association.handoff.client : sys::SocketAddress();
  for (int calls = 0; socket.readable; ++calls) {
    if (calls == kReceivesPerTurn) return true;
    stats_.receive_calls.Increment();
    const int count = receive_->Receive(socket.fd.get());
    // The call would have gone on if there were more; what comes now is told by another event.
    if (count >= 0 && count < ReceiveBatch::kMessages) socket.readable = false;
    if (count <= 0) continue;
    receive_->ForEach([&](absl::string_view datagram, const sys::SocketAddress& from) {
      stats_.received.Increment();
      char header[AssociationObserver::kMostHeaderBytes];
      const size_t size = association.handoff.observer->Seal(from, header);
      association.report.bytes_from_upstream += static_cast<int64_t>(datagram.size());
      association.active_tick = TickOf(now_);
      send_->Add(client, to, absl::string_view(header, size), datagram, association.local);
    });
    send_->Flush();
  }
  return false;
}

void Associations::End(Association& association, EndCode code, EndSide side, int error) {
  if (association.ending) return;
  association.ending = true;
  wheel_.Disarm(association.slot);
  send_->Flush();
  association.report.reason = {code, side, error};
  association.report.ended = now_;
  association.handoff.observer->OnEnd(association.report);
  LeaveShared(association);
  for (Socket& socket : association.sockets) {
    if (socket.watched) loop_->Release(socket.watch);
  }
  // FIN goes out now, even where the loop holds the descriptor for another turn.
  if (association.sockets[kControl].fd.valid()) shutdown(association.sockets[kControl].fd.get(), SHUT_WR);
  FreeIfReleased(association);
}

void Associations::FreeIfReleased(Association& association) {
  if (!association.ending || association.watches > 0) return;
  const uint32_t slot = association.slot;
  const uint32_t generation = (association.generation + 1) & SessionTable::kGenerationMask;
  // The place in the budget is given back while the observer still holds what the budget belongs to.
  association.handoff.admission.Return();
  association = Association();
  association.slot = slot;
  association.generation = generation;
  free_.push_back(slot);
  --running_;
  stats_.running.Add(-1);
}

void Associations::MakeReady(Association& association) {
  if (association.ready_listed) return;
  association.ready_listed = true;
  ready_.push_back(uint64_t{association.generation} << 32 | association.slot);
}

void Associations::RunReady() {
  const std::vector<uint32_t> shared = std::exchange(ready_shared_, {});
  for (const uint32_t slot : shared) {
    shared_[slot]->ready_listed = false;
    if (shared_[slot]->socket.watched && !shared_[slot]->closing) ReadShared(*shared_[slot]);
  }
  if (ready_.empty()) return;
  ready_now_.swap(ready_);
  for (const uint64_t key : ready_now_) {
    Association* association = Find(static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32));
    if (association == nullptr) continue;
    association->ready_listed = false;
    if (!association->ending) Pump(*association);
  }
  ready_now_.clear();
}

void Associations::AdvanceTo(sys::MonotonicNanos now) {
  now_ = now;
  due_.clear();
  wheel_.Advance(TickOf(now), due_);
  for (const uint32_t slot : due_) {
    Association& association = *associations_[slot];
    if (!association.used || association.ending) continue;
    const uint32_t deadline = IdleDeadline(association);
    if (static_cast<int32_t>(deadline - TickOf(now_)) > 0) {
      wheel_.Arm(slot, deadline);
    } else {
      End(association, EndCode::kIdleTimeout, EndSide::kUs, 0);
    }
  }
}

uint32_t Associations::IdleDeadline(const Association& association) const {
  return association.active_tick + static_cast<uint32_t>(association.handoff.idle_nanos / sys::kNanosPerMilli) + 1;
}

int64_t Associations::NanosToNext(sys::MonotonicNanos now) const {
  if (!ready_.empty() || !ready_shared_.empty()) return 0;
  const int64_t ticks = wheel_.TicksToNext();
  if (ticks < 0) return -1;
  return std::max<int64_t>(0, now_ - now_ % sys::kNanosPerMilli + ticks * sys::kNanosPerMilli - now);
}

void Associations::EndAll(EndCode code) {
  for (const std::unique_ptr<Association>& association : associations_) {
    if (association->used) End(*association, code, EndSide::kUs, 0);
  }
}

uint32_t Associations::Review(uint32_t slot, uint32_t most, ReviewTally& tally) {
  const uint32_t all = static_cast<uint32_t>(associations_.size());
  const uint32_t end = std::min(all, slot + most);
  for (; slot < end; ++slot) {
    Association& association = *associations_[slot];
    if (!association.used || association.ending) continue;
    const relay::Review review = association.handoff.observer->OnReview();
    tally.Count(review);
    association.last_header.clear();
    association.met.reset();
    association.first_met = false;
    if (review == relay::Review::kRevoked) End(association, EndCode::kRevoked, EndSide::kUs, 0);
  }
  return slot < all ? slot : 0;
}

}  // namespace sluice::relay
