#include "relay/first_bytes.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "relay/session_table.h"
#include "relay/worker.h"

namespace sluice::relay {

FirstBytes::FirstBytes(Worker* worker, sys::Loop* loop, TokenMaker make_token, sys::MonotonicNanos now)
    : worker_(worker), loop_(loop), make_token_(make_token), now_(now), wheel_(TickOf(now)) {}

void FirstBytes::Add(std::shared_ptr<AdmissionHandler> handler, sys::UniqueFd client, sys::SocketAddress address,
                     Admission admission, int64_t nanos) {
  char byte;
  if (recv(client.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0) {
    stats_.spoke.Increment();
    return handler->OnAdmitted(*worker_, std::move(client), std::move(address), std::move(admission));
  }
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(slots_.size()));
    slots_.push_back(std::make_unique<Waiting>());
    wheel_.Reserve(static_cast<uint32_t>(slots_.size()));
  }
  const uint32_t slot = free_.back();
  Waiting& waiting = *slots_[slot];
  const int64_t watch = loop_->Watch(client.get(), make_token_(slot, waiting.generation), sys::Loop::Interest::kRead);
  // Without room in the loop the client is closed by leaving; its place in the budget is given back.
  if (watch < 0) return;
  free_.pop_back();
  waiting.handler = std::move(handler);
  waiting.fd = std::move(client);
  waiting.address = std::move(address);
  waiting.admission = std::move(admission);
  waiting.watch = static_cast<sys::Loop::WatchId>(watch);
  waiting.phase = Phase::kWaiting;
  wheel_.Arm(
      slot, TickOf(now_) +
                static_cast<uint32_t>(std::min<int64_t>(nanos / sys::kNanosPerMilli, TimerWheel::kReachTicks - 1)) + 1);
  stats_.waiting.Add(1);
}

void FirstBytes::OnEvent(uint32_t slot, uint32_t generation, uint16_t ready) {
  if (slot >= slots_.size()) return;
  Waiting& waiting = *slots_[slot];
  if (waiting.generation != generation || waiting.phase == Phase::kFree) return;
  if ((ready & sys::Loop::kReleased) != 0) return Released(slot);
  if (waiting.phase == Phase::kWaiting) LetGo(slot, Phase::kSpoke);
}

void FirstBytes::LetGo(uint32_t slot, Phase phase) {
  Waiting& waiting = *slots_[slot];
  waiting.phase = phase;
  wheel_.Disarm(slot);
  loop_->Release(waiting.watch);
}

// The loop has let go: the descriptor may go to another thread now.
void FirstBytes::Released(uint32_t slot) {
  Waiting waiting = std::move(*slots_[slot]);
  *slots_[slot] = Waiting();
  slots_[slot]->generation = (waiting.generation + 1) & SessionTable::kGenerationMask;
  free_.push_back(slot);
  stats_.waiting.Add(-1);
  if (waiting.phase == Phase::kSpoke) {
    stats_.spoke.Increment();
    waiting.handler->OnAdmitted(*worker_, std::move(waiting.fd), std::move(waiting.address),
                                std::move(waiting.admission));
  } else if (waiting.phase == Phase::kSilent) {
    stats_.silent.Increment();
    waiting.handler->OnSilent(std::move(waiting.fd), std::move(waiting.address), std::move(waiting.admission));
  } else {
    waiting.admission.Return();  // while the handler still holds the budget
  }
}

void FirstBytes::AdvanceTo(sys::MonotonicNanos now) {
  now_ = now;
  due_.clear();
  wheel_.Advance(TickOf(now), due_);
  for (const uint32_t slot : due_) LetGo(slot, Phase::kSilent);
}

int64_t FirstBytes::NanosToNext(sys::MonotonicNanos now) const {
  const int64_t ticks = wheel_.TicksToNext();
  if (ticks < 0) return -1;
  return std::max<int64_t>(0, now_ - now_ % sys::kNanosPerMilli + ticks * sys::kNanosPerMilli - now);
}

void FirstBytes::EndIdle() {
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot]->phase == Phase::kWaiting && slots_[slot]->handler->is_idle()) LetGo(slot, Phase::kEnded);
  }
}

void FirstBytes::EndAll() {
  for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot]->phase == Phase::kWaiting) LetGo(slot, Phase::kEnded);
  }
}

}  // namespace sluice::relay
