// The worker connects: one attempt after another (RFC 8305), no thread held.

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "relay/engine.h"

namespace sluice::relay {

void Engine::StartConnecting(Session& session, ConnectPlan plan) {
  session.stage = SessionStage::kConnecting;
  session.upstream_kind = 0xff;  // no attempt has won
  session.connecting = std::make_unique<Connecting>();
  session.connecting->plan = std::move(plan);
  session.connecting->last_error = session.connecting->plan.error;
  // Attempts are referred to while others are added: they must not move.
  session.connecting->attempts.reserve(ConnectPlan::kMostCandidates);
  if (session.connecting->plan.listener.valid()) return StartAccepting(session);
  ArmAfter(SessionTimer(session), session.options->connect_nanos);
  TryNextCandidate(session);
}

// Starts the next candidate that can be started at all; when none is left and none is pending, connecting is over.
void Engine::TryNextCandidate(Session& session) {
  Connecting& connecting = *session.connecting;
  const auto& candidates = connecting.plan.candidates;
  const size_t count = std::min<size_t>(candidates.size(), ConnectPlan::kMostCandidates);
  while (connecting.next_candidate < count) {
    const sys::SocketAddress& address = candidates[connecting.next_candidate];
    sys::ErrnoOr<sys::UniqueFd> fd = StartConnect(address, connecting.plan.outgoing);
    if (!fd.ok() && fd.error().code == EAGAIN && address.is_unix()) {
      return ArmAfter(FlowTimer(session, kUp), Connecting::kUnixRetryMillis * sys::kNanosPerMilli);
    }
    ++connecting.next_candidate;
    if (!fd.ok()) {
      connecting.last_error = fd.error().code;
      session.observer->OnConnectFailed(address, fd.error().code);
      continue;
    }
    Connecting::Attempt attempt{.fd = *std::move(fd)};
    attempt.kind = static_cast<uint8_t>(kKindUpstream + connecting.attempts.size());
    attempt.candidate = static_cast<uint8_t>(connecting.next_candidate - 1);
    const int64_t watch = loop_->Watch(attempt.fd.get(), MakeToken(session.slot, session.generation, attempt.kind),
                                       sys::Loop::Interest::kBoth);
    if (watch < 0) {
      stats_.refused_resources.Add(1);
      return ConnectingOver(session, EndCode::kNoResources, EndSide::kUs, static_cast<int>(-watch));
    }
    attempt.watch = static_cast<sys::Loop::WatchId>(watch);
    attempt.watched = true;
    ++session.watches;
    connecting.attempts.push_back(std::move(attempt));
    if (connecting.next_candidate < count) {
      ArmAfter(FlowTimer(session, kUp), Connecting::kStaggerMillis * sys::kNanosPerMilli);
    }
    return;
  }
  if (connecting.pending() == 0) {
    stats_.connect_failed.Add(1);
    const EndCode code = connecting.last_error == ETIMEDOUT ? EndCode::kConnectTimeout : EndCode::kConnectFailed;
    ConnectingOver(session, code, EndSide::kUpstream, connecting.last_error);
  }
}

void Engine::OnStagger(Session& session) {
  if (session.connecting->accepting) return AcceptUpstream(session);
  TryNextCandidate(session);
}

void Engine::OnAttemptEvent(Session& session, uint8_t kind, uint16_t ready) {
  if (session.stage != SessionStage::kConnecting) return;
  if (session.connecting->accepting) return AcceptUpstream(session);
  for (Connecting::Attempt& attempt : session.connecting->attempts) {
    if (attempt.kind != kind || !attempt.pending) continue;
    constexpr uint16_t kOutcome = sys::Loop::kWritable | sys::Loop::kHangUp | sys::Loop::kError;
    if ((ready & kOutcome) == 0) return;
    constexpr uint16_t kFailure = sys::Loop::kHangUp | sys::Loop::kError;
    const int error = ConnectOutcome(attempt.fd.get(), session.connecting->plan.candidates[attempt.candidate],
                                     (ready & kFailure) != 0);
    if (error != 0) return AttemptFailed(session, attempt, error);
    if ((ready & sys::Loop::kError) != 0) return Unwatchable(session);
    return AttemptWon(session, attempt, ready);
  }
}

void Engine::AttemptFailed(Session& session, Connecting::Attempt& attempt, int error) {
  Connecting& connecting = *session.connecting;
  attempt.pending = false;
  connecting.last_error = error;
  session.observer->OnConnectFailed(connecting.plan.candidates[attempt.candidate], error);
  loop_->ReleaseToClose(attempt.watch);
  TryNextCandidate(session);
}

void Engine::AttemptWon(Session& session, Connecting::Attempt& winner, uint16_t ready) {
  Connecting& connecting = *session.connecting;
  session.observer->OnConnected(winner.fd.get(), connecting.plan.candidates[winner.candidate]);
  Leg& leg = session.leg[kUpstream];
  leg.fd = std::move(winner.fd);
  leg.watch = winner.watch;
  leg.watched = true;
  leg.writable = true;
  // An origin that speaks first may have spoken, or ended, before this edge was taken: there will be no other for it.
  constexpr uint16_t kEnds = sys::Loop::kReadHangUp | sys::Loop::kHangUp | sys::Loop::kError;
  leg.hang_up_seen = (ready & kEnds) != 0;
  leg.urgent_seen = (ready & sys::Loop::kPriority) != 0;
  leg.readable = (ready & (sys::Loop::kReadable | sys::Loop::kPriority | kEnds)) != 0;
  leg.is_tcp = connecting.plan.candidates[winner.candidate].is_ip();
  session.upstream_kind = winner.kind;
  winner.pending = false;
  winner.watched = false;
  for (Connecting::Attempt& attempt : connecting.attempts) {
    if (!attempt.pending) continue;
    attempt.pending = false;
    loop_->ReleaseToClose(attempt.watch);
  }
  session.stage = SessionStage::kRelaying;
  session.active_tick = TickOf(now_);
  wheel_.Disarm(FlowTimer(session, kUp));
  wheel_.Arm(SessionTimer(session), IdleDeadline(session));
  if (session.watches == 2) session.connecting.reset();
  if (!SayFirst(session, session.observer->AnswerConnected(leg.fd.get()))) return;
  Pump(session, kUp);
  if (session.stage == SessionStage::kRelaying) Pump(session, kDown);
  if (session.stage == SessionStage::kRelaying) Settle(session);
}

// The loop has let go of an attempt that failed or lost.
void Engine::OnAttemptReleased(Session& session, uint8_t kind) {
  bool all_released = true;
  for (Connecting::Attempt& attempt : session.connecting->attempts) {
    if (attempt.kind == kind) {
      attempt.fd.reset();
      attempt.watched = false;
    }
    all_released = all_released && !attempt.watched;
  }
  if (all_released && session.stage != SessionStage::kConnecting) session.connecting.reset();
}

void Engine::ConnectingOver(Session& session, EndCode code, EndSide side, int error) {
  for (Connecting::Attempt& attempt : session.connecting->attempts) {
    if (!attempt.pending) continue;
    attempt.pending = false;
    // Whoever reads the log wants to know which address was silent.
    if (code == EndCode::kConnectTimeout) {
      session.observer->OnConnectFailed(session.connecting->plan.candidates[attempt.candidate], error);
    }
    loop_->ReleaseToClose(attempt.watch);
  }
  session.framed = false;  // one answer, then the end
  // Losers may still be held by the loop: `connecting` stays until the last one is released.
  SetReason(session, code, side, error);
  const std::string answer = session.observer->AnswerNotConnected(session.reason);
  if (answer.empty() || side == EndSide::kClient) return Finish(session);
  if (!SayFirst(session, answer)) return;
  // The client is given its answer and the time to read it, like one whose upstream has just ended.
  session.stage = SessionStage::kRelaying;
  session.leg[kUpstream].state = LegState::kBroken;
  Step(session, kUp, FlowEvent::kAbandon);
  Step(session, kDown, FlowEvent::kSourceEnd);
  if (session.flow[kDown].state != FlowState::kEnded) Pump(session, kDown);
  if (session.stage == SessionStage::kRelaying) Settle(session);
}

// Puts `answer` before everything that the upstream says. False without memory; the session is over then.
bool Engine::SayFirst(Session& session, const std::string& answer) {
  if (answer.empty()) return true;
  Flow& flow = session.flow[kDown];
  if (HoldsRest(flow.state)) {  // bytes of the upstream from the handshake: not with a connect of our own
    ForceClose(session, EndCode::kNoResources, EndSide::kUs, 0);
    return false;
  }
  if (!transfer_.Preload(flow, answer.data(), answer.size())) {
    ForceClose(session, EndCode::kNoResources, EndSide::kUs, ENOMEM);
    return false;
  }
  flow.bytes -= static_cast<int64_t>(answer.size());  // ours, not the upstream's
  Step(session, kDown, FlowEvent::kRestLeft);
  return true;
}

}  // namespace sluice::relay
