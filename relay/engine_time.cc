// What time does: idle times, LINGER, grace delays, connecting's deadlines.

#include <algorithm>
#include <cerrno>
#include <utility>

#include "relay/engine.h"

namespace sluice::relay {
namespace {

bool OneHasEnded(const Session& session) {
  return session.flow[kUp].state == FlowState::kEnded || session.flow[kDown].state == FlowState::kEnded;
}

}  // namespace

void Engine::AdvanceTo(sys::MonotonicNanos now) {
  now_ = now;
  due_.clear();
  wheel_.Advance(TickOf(now), due_);
  for (const uint32_t id : due_) OnTimer(id);
}

void Engine::OnTimer(uint32_t id) {
  Session& session = table_.At(id / 3);
  if (session.stage == SessionStage::kFree) return;
  if (id % 3 == 0) return OnSessionTimer(session);
  if (session.stage == SessionStage::kConnecting) return OnStagger(session);
  if (session.stage != SessionStage::kRelaying) return;
  const int direction = static_cast<int>(id % 3) - 1;
  Flow& flow = session.flow[direction];
  flow.delayed = false;
  flow.after_delay = !std::exchange(flow.paced, false);
  Pump(session, direction);
  if (session.stage == SessionStage::kRelaying) Settle(session);
}

void Engine::OnSessionTimer(Session& session) {
  switch (session.stage) {
    case SessionStage::kConnecting:
      return ConnectingOver(session, EndCode::kConnectTimeout, EndSide::kUpstream, ETIMEDOUT);
    case SessionStage::kDiscarding:
      return Discard(session);
    case SessionStage::kRelaying: {
      if (session.framed) return OnFramedTimer(session);
      const TimerWheel::Id id = SessionTimer(session);
      const uint32_t deadline = IdleDeadline(session);
      if (static_cast<int32_t>(deadline - TickOf(now_)) > 0) {
        wheel_.Arm(id, deadline);
        return;
      }
      const bool is_tail = OneHasEnded(session) && !session.options->half_close;
      const int tail = session.flow[kUp].state == FlowState::kEnded ? kDown : kUp;
      if (is_tail && TailMoved(session.leg[SinkOf(tail)])) return ArmAfter(id, session.options->linger_nanos);
      return ForceClose(session, is_tail ? EndCode::kUnsentData : EndCode::kIdleTimeout, EndSide::kUs, 0);
    }
    case SessionStage::kFree:
    case SessionStage::kReleasing:
      return;
  }
}

uint32_t Engine::IdleDeadline(const Session& session) const {
  const RelayOptions& options = *session.options;
  int64_t nanos = options.idle_nanos;
  if (session.framed) {
    const Framer& framer = *session.observer->framer();
    nanos = std::min(nanos, framer.QuietNanos());
    if (const int64_t wait = framer.WaitNanos(); wait > 0) nanos = std::min(nanos, wait);
  }
  // Under -C what follows an end is only the tail.
  if (OneHasEnded(session)) {
    nanos = std::min(nanos, options.half_close ? options.half_closed_idle_nanos : options.linger_nanos);
  }
  return session.active_tick + static_cast<uint32_t>(nanos / sys::kNanosPerMilli) + 1;
}

// One tick more than asked: the turn's time lies somewhere within its tick, and a timer must not be early.
void Engine::ArmAfter(uint32_t id, int64_t nanos) {
  wheel_.Arm(id, TickOf(now_) + static_cast<uint32_t>(nanos / sys::kNanosPerMilli) + 1);
}

int64_t Engine::NanosToNext(sys::MonotonicNanos now) const {
  if (!ready_.empty() || !deferred_.empty()) return 0;
  const int64_t ticks = wheel_.TicksToNext();
  if (ticks < 0) return -1;
  // Ticks are counted from the wheel's own time, which is that of the last turn.
  const sys::MonotonicNanos wheel_start = now_ - now_ % sys::kNanosPerMilli;
  return std::max<int64_t>(0, wheel_start + ticks * sys::kNanosPerMilli - now);
}

}  // namespace sluice::relay
