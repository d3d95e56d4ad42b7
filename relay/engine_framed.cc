// Sessions with a framer: one client connection, one request after the other.

#include <cerrno>
#include <string>
#include <utility>

#include "relay/engine.h"
#include "sys/net/socket_options.h"

namespace sluice::relay {

void Engine::PumpFramed(Session& session, int direction) {
  Framer& framer = *session.observer->framer();
  Flow& flow = session.flow[direction];
  Leg& source = session.leg[SourceOf(direction)];
  Leg& sink = session.leg[SinkOf(direction)];
  int64_t budget = kPumpBytes;
  for (int reads = kPumpReads;;) {
    if (HoldsRest(flow.state) && !PumpRest(session, direction)) return;
    if (flow.state != FlowState::kReading || flow.delayed || session.returning || !framer.Wants(direction)) return;
    bool held = false;
    if (direction == kUp) {
      held = framer.HoldsInput();
      if (framer.Quiet() && (held || source.readable) && !MayBegin(session)) return;
    }
    if (!held && !source.readable) return;
    if (budget <= 0 || reads-- == 0) return MakeReady(session);
    int64_t most_bytes = FlowLimits::kNoLimit;
    const bool limited = session.limits != nullptr && !held;
    if (limited && !MayTake(session, direction, most_bytes)) return;
    const Transfer::Outcome outcome =
        held ? transfer_.Give(flow, source, sink, framer, direction, absl::string_view())
             : transfer_.TakeFramed(flow, source, sink, *session.options, framer, direction, most_bytes, now_);
    if (limited) LimitsOf(session, direction).Took(outcome.bytes);
    budget -= outcome.bytes;
    switch (outcome.result) {
      case Transfer::Result::kTaken:
        AfterTake(session, direction, outcome.bytes);
        if (outcome.rest_left) HoldRest(session, direction, outcome.deferred);
        if (direction == kUp && framer.WaitNanos() > 0) wheel_.Arm(SessionTimer(session), IdleDeadline(session));
        if (outcome.next != Framer::Next::kGoOn) return GoOn(session, direction, outcome.next, 0);
        if (outcome.deferred) return;
        break;
      case Transfer::Result::kNothing:
        return;
      case Transfer::Result::kSourceEnd:
        // After an abort that some other call has met, the end that is read is none.
        return FramedEnd(session, direction, source.is_gone ? ECONNRESET : 0);
      case Transfer::Result::kSourceError:
        return FramedEnd(session, direction, outcome.error);
      case Transfer::Result::kSinkError:
        return SinkBroke(session, direction, outcome.error);
      case Transfer::Result::kNoMemory:
        return ForceClose(session, EndCode::kNoResources, EndSide::kUs, outcome.error);
    }
  }
}

// The next request of the session goes to the upstream. Answers go out in the order of the requests, so not while the
// last one is held. And what the upstream has sent since then is the answer to nothing: it is read first, so that it
// cannot become the answer to this one. (The loop may tell of the client before it tells of the upstream.)
bool Engine::MayBegin(Session& session) {
  if (HoldsRest(session.flow[kDown].state)) return false;
  session.leg[kUpstream].readable = true;
  PumpFramed(session, kDown);
  return session.stage == SessionStage::kRelaying && session.framed && !session.returning;
}

void Engine::FramedEnd(Session& session, int direction, int error) {
  Leg& source = session.leg[SourceOf(direction)];
  const int64_t undelivered = direction == kDown ? UndeliveredBytes(session, error) : 0;
  source.readable = false;
  source.state = error == 0 ? LegState::kEnded : LegState::kBroken;
  GoOn(session, direction, session.observer->framer()->OnEnd(direction, error, undelivered), error);
}

// What the upstream has certainly not received: its end came first, and acknowledged none of it. (A reset without an
// end before it proves nothing: it carries no acknowledgement, and may come from a program that has read everything.)
int64_t Engine::UndeliveredBytes(const Session& session, int error) {
  const Leg& upstream = session.leg[kUpstream];
  const Flow& up = session.flow[kUp];
  const int cause = session.reason_set ? session.reason.error : error;
  // EPIPE: the kernel's word for a reset that came behind an end.
  if (!upstream.is_tcp || (cause != 0 && cause != EPIPE)) return 0;
  return int64_t{sys::UnacknowledgedBytes(upstream.fd.get())} + HeldBytes(up) + up.unsent_bytes;
}

// What the framer says, done.
void Engine::GoOn(Session& session, int direction, Framer::Next next, int error) {
  switch (next) {
    case Framer::Next::kGoOn:
      return;
    case Framer::Next::kTunnel:
      return BecomePlain(session);
    case Framer::Next::kEndUp:
      return Step(session, kUp, FlowEvent::kSourceEnd);
    case Framer::Next::kClose:
      return CloseFramed(session);
    case Framer::Next::kAbort:
      SetReason(session, EndCode::kReadFailed, direction == kUp ? EndSide::kClient : EndSide::kUpstream, error);
      session.leg[SourceOf(direction)].is_gone = true;  // so the other's close is a reset
      session.leg[SourceOf(direction)].state = LegState::kBroken;
      Step(session, kUp, FlowEvent::kAbandon);
      Step(session, kDown, FlowEvent::kAbandon);
      return;
    case Framer::Next::kReturn:
      session.returning = true;
      return;
  }
}

// No messages any more. What the client sent early goes first.
void Engine::BecomePlain(Session& session) {
  Framer& framer = *session.observer->framer();
  session.framed = false;
  session.options = framer.TunnelOptions();
  const std::string held = framer.TakeHeld();
  if (!held.empty()) {
    if (!transfer_.Append(session.flow[kUp], held)) {
      return ForceClose(session, EndCode::kNoResources, EndSide::kUs, ENOMEM);
    }
    Step(session, kUp, FlowEvent::kRestLeft);
  }
  wheel_.Arm(SessionTimer(session), IdleDeadline(session));
  Pump(session, kUp);
  if (session.stage == SessionStage::kRelaying) Pump(session, kDown);
}

// The client gets what is held for it and the framer's last word, then the end.
void Engine::CloseFramed(Session& session) {
  if (!SayToClient(session, session.observer->framer()->TakeAnswer())) return;
  FreeUpstream(session);
  Step(session, kUp, FlowEvent::kAbandon);
  Step(session, kDown, FlowEvent::kSourceEnd);
  const Flow& down = session.flow[kDown];
  if (HoldsRest(down.state) && !down.rest.lent()) PumpRest(session, kDown);
}

// Puts `text` behind what is held for the client. False without memory; the session is over then.
bool Engine::SayToClient(Session& session, const std::string& text) {
  if (text.empty()) return true;
  if (!transfer_.Append(session.flow[kDown], text)) {
    ForceClose(session, EndCode::kNoResources, EndSide::kUs, ENOMEM);
    return false;
  }
  Step(session, kDown, FlowEvent::kRestLeft);
  return true;
}

// The upstream has done its part: to whoever can use it, or closed.
void Engine::FreeUpstream(Session& session) {
  Leg& upstream = session.leg[kUpstream];
  if (session.upstream_freed || !upstream.watched) return;
  // A transform goes with its session: whoever took the descriptor would take bytes that it has read ahead for none.
  const bool reusable = upstream.state == LegState::kOpen && upstream.transform == nullptr &&
                        session.observer->framer()->UpstreamIsReusable();
  upstream.state = LegState::kBroken;  // of no more concern to the session
  upstream.is_gone = false;
  if (session.observer->framer()->UpstreamIsCut()) upstream.close_kind = CloseKind::kReset;
  if (!reusable) return;
  session.upstream_freed = true;
  loop_->Release(upstream.watch);
}

// Both legs leave the loop; then the client goes to who serves it next, and the slot is free.
void Engine::ReturnClient(Session& session) {
  session.stage = SessionStage::kReleasing;
  wheel_.Disarm(SessionTimer(session));
  for (const int direction : {kUp, kDown}) {
    wheel_.Disarm(FlowTimer(session, direction));
    transfer_.DropRest(session.flow[direction]);
  }
  FreeUpstream(session);
  CloseLeg(session, kUpstream);
  loop_->Release(session.leg[kClient].watch);
}

// Once the loop has let go of everything.
void Engine::GiveClientBack(Session& session) {
  Returned returned{std::move(session.leg[kClient].fd), std::move(session.admission), std::move(session.observer),
                    std::move(session.leg[kClient].transform)};
  table_.Free(session);
  Framer* const framer = returned.observer->framer();
  framer->OnReturned(worker_, std::move(returned));
}

// After each batch of pumping: what has become possible, and is the session over?
void Engine::SettleFramed(Session& session) {
  if (session.leg[kClient].state == LegState::kBroken) {
    if (!session.leg[kClient].is_gone) FreeUpstream(session);
    return BeginClose(session);
  }
  Pump(session, kUp);  // it may have waited for the end of the answer
  if (session.stage == SessionStage::kRelaying && session.framed && session.leg[kUpstream].state == LegState::kBroken &&
      session.leg[kUpstream].readable) {
    Pump(session, kDown);  // what a broken leg still had to say: it may be a whole answer
  }
  if (session.stage != SessionStage::kRelaying) return;
  if (!session.framed) return Settle(session);
  const Flow& down = session.flow[kDown];
  if (session.returning) {
    if (!HoldsRest(down.state)) ReturnClient(session);
    return;
  }
  if (closing_idle_ && session.observer->framer()->Quiet() && down.state == FlowState::kReading) CloseFramed(session);
  if (session.stage == SessionStage::kRelaying && session.flow[kUp].state == FlowState::kEnded &&
      down.state == FlowState::kEnded) {
    BeginClose(session);
  }
}

void Engine::OnFramedTimer(Session& session) {
  Framer& framer = *session.observer->framer();
  const bool quiet = framer.Quiet() && !HoldsRest(session.flow[kDown].state);
  int64_t nanos = quiet ? framer.QuietNanos() : session.options->idle_nanos;
  const int64_t wait = quiet ? 0 : framer.WaitNanos();
  const bool waits = wait > 0 && wait < nanos;
  if (waits) nanos = wait;
  const uint32_t deadline = session.active_tick + static_cast<uint32_t>(nanos / sys::kNanosPerMilli) + 1;
  if (static_cast<int32_t>(deadline - TickOf(now_)) > 0) {
    // A running exchange may end meanwhile, and the next one has less time to begin: looked at that often.
    const uint32_t look = TickOf(now_) + static_cast<uint32_t>(framer.QuietNanos() / sys::kNanosPerMilli) + 1;
    wheel_.Arm(SessionTimer(session), static_cast<int32_t>(deadline - look) < 0 ? deadline : look);
    return;
  }
  if (waits) {
    if (!SayToClient(session, framer.OnWaited())) return;
    if (session.flow[kDown].state == FlowState::kHolding) PumpRest(session, kDown);
    wheel_.Arm(SessionTimer(session), IdleDeadline(session));
  } else if (quiet) {
    CloseFramed(session);
  } else if (session.flow[kDown].state != FlowState::kReading) {
    return ForceClose(session, EndCode::kUnsentData, EndSide::kClient, 0);
  } else {
    SetReason(session, EndCode::kIdleTimeout, EndSide::kUpstream, 0);
    FramedEnd(session, kDown, ETIMEDOUT);
    wheel_.Arm(SessionTimer(session),
               TickOf(now_) + static_cast<uint32_t>(session.options->linger_nanos / sys::kNanosPerMilli));
  }
  if (session.stage == SessionStage::kRelaying) SettleFramed(session);
}

void Engine::EndIdle() {
  closing_idle_ = true;
  for (uint32_t slot = 0; slot < table_.capacity(); ++slot) {
    Session& session = table_.At(slot);
    if (session.stage == SessionStage::kRelaying && session.framed) SettleFramed(session);
  }
}

}  // namespace sluice::relay
