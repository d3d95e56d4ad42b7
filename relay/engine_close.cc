// How sessions end. relay/README.md has the truth table.

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "relay/engine.h"
#include "sys/net/socket_options.h"

namespace sluice::relay {
namespace {

EndSide SideOf(int leg) { return leg == kClient ? EndSide::kClient : EndSide::kUpstream; }

DataPath PathOf(const Flow& flow) {
  if (flow.bytes == 0) return DataPath::kNone;
  if (flow.spliced_bytes == 0) return DataPath::kCopy;
  return flow.spliced_bytes == flow.bytes ? DataPath::kSplice : DataPath::kBoth;
}

FlowReport ReportOf(const Flow& flow) {
  return {.bytes = flow.bytes,
          .spliced_bytes = flow.spliced_bytes,
          .unsent_bytes =
              std::min(flow.bytes, flow.unsent_bytes + HeldBytes(flow)),  // an answer of ours is none of its bytes
          .path = PathOf(flow)};
}

}  // namespace

void Engine::SetReason(Session& session, EndCode code, EndSide side, int error) {
  if (session.reason_set) return;  // what came first is what ended it
  session.reason = {code, side, error};
  session.reason_set = true;
}

SessionReport Engine::Report(const Session& session) const {
  return {.reason = session.reason,
          .from_client = ReportOf(session.flow[kUp]),
          .from_upstream = ReportOf(session.flow[kDown]),
          .started = session.started,
          .ended = now_};
}

// Refused only where the leg is gone already (ENOTCONN), which its reading side will say.
void Engine::Shut(Leg& leg) {
  if (std::exchange(leg.shut, true)) return;
  if (leg.transform != nullptr && leg.state != LegState::kBroken) {
    leg.end_held = leg.transform->End(leg.fd.get()) == -EAGAIN;
    if (leg.end_held) return;  // FIN follows it
  }
  shutdown(leg.fd.get(), SHUT_WR);
}

// The loop says that a leg has failed. The error is taken at once, so that it makes no difference which call would have
// met it: what the leg still holds is read and delivered, the end after that is none, and nothing more is given to it.
void Engine::LegFailed(Session& session, int index) {
  Leg& leg = session.leg[index];
  const int error = sys::PendingSocketError(leg.fd.get());
  if (error == 0) return Unwatchable(session);
  const bool had_its_say = leg.state == LegState::kEnded;
  SetReason(session, had_its_say ? EndCode::kWriteFailed : EndCode::kReadFailed, SideOf(index), error);
  Break(leg, had_its_say ? index == kClient : true);
  Step(session, 1 - index, FlowEvent::kAbandon);
}

// The loop spoke of an error that is none: it cannot watch that socket any longer (loop.h).
void Engine::Unwatchable(Session& session) {
  stats_.refused_resources.Add(1);
  if (session.stage == SessionStage::kConnecting) {
    return ConnectingOver(session, EndCode::kNoResources, EndSide::kUs, ENOMEM);
  }
  ForceClose(session, EndCode::kNoResources, EndSide::kUs, ENOMEM);
}

void Engine::Break(Leg& leg, bool pass_on) {
  leg.state = LegState::kBroken;
  if (pass_on) leg.is_gone = true;
}

// Reading a leg failed: nothing more comes from it, and nothing can be given to it.
void Engine::SourceBroke(Session& session, int direction, int error) {
  Leg& leg = session.leg[SourceOf(direction)];
  Break(leg, leg.state != LegState::kBroken);
  leg.readable = false;
  SetReason(session, EndCode::kReadFailed, SideOf(SourceOf(direction)), error);
  Step(session, direction, FlowEvent::kAbandon);
  Step(session, 1 - direction, FlowEvent::kAbandon);
}

// Writing a leg failed. What it sent before is still read: it may be a whole answer. EPIPE means that it takes no more
// but has ended in order, or will; anything else that it is gone, and then 0 is no end (a reset is told once only). A
// client that has ended and gone wants no more of the answer, which the upstream learns by a reset; an upstream that
// has done so has answered, and the client may finish its upload into nowhere while it reads.
void Engine::SinkBroke(Session& session, int direction, int error) {
  Leg& leg = session.leg[SinkOf(direction)];
  SetReason(session, EndCode::kWriteFailed, SideOf(SinkOf(direction)), error);
  Step(session, direction, FlowEvent::kAbandon);
  const bool had_its_say = session.flow[1 - direction].state == FlowState::kEnded;
  Break(leg, had_its_say ? SinkOf(direction) == kClient : error != EPIPE);
  if (!had_its_say) leg.readable = true;
}

// The messages that were to leave at the end of the turn leave now: the session ends before that.
void Engine::SendLent(Session& session) {
  for (const int direction : {kUp, kDown}) {
    Flow& flow = session.flow[direction];
    if (!flow.rest.lent()) continue;
    if (transfer_.Deliver(flow, session.leg[SinkOf(direction)], false).result != Transfer::Result::kTaken) {
      transfer_.DropRest(flow);
    }
  }
}

// Both flows have ended.
void Engine::BeginClose(Session& session) {
  SendLent(session);
  bool has_tail = false;
  for (const int index : {kClient, kUpstream}) {
    Leg& leg = session.leg[index];
    const Leg& other = session.leg[1 - index];
    leg.close_kind = CloseKindOf(leg.state, other.state, other.is_gone);
    const bool says_end = leg.transform != nullptr && leg.close_kind == CloseKind::kClose;
    if (says_end || leg.close_kind == CloseKind::kDiscard) Shut(leg);
    if (leg.close_kind == CloseKind::kClose && !leg.end_held) continue;
    leg.linger_queue_bytes = sys::UnacknowledgedBytes(leg.fd.get());
    if (leg.close_kind != CloseKind::kReset || leg.linger_queue_bytes > 0) has_tail = true;
  }
  if (!has_tail) return Finish(session);
  session.stage = SessionStage::kDiscarding;
  session.active_tick = TickOf(now_);
  for (const uint32_t timer : {SessionTimer(session), FlowTimer(session, kUp), FlowTimer(session, kDown)}) {
    wheel_.Disarm(timer);
  }
  Discard(session);
}

// The tail is under way. What a leg still sends is read and thrown away, so that the close does not become a reset that
// destroys the tail; and a leg that is to be reset is so only once it has taken the tail.
void Engine::Discard(Session& session) {
  bool goes_on = false;
  int64_t next_look = session.options->linger_nanos;
  for (const int index : {kClient, kUpstream}) {
    Leg& leg = session.leg[index];
    if (leg.close_kind == CloseKind::kClose && !leg.end_held) continue;
    if (TailIsOver(session, index)) {
      if (leg.close_kind == CloseKind::kDiscard) leg.close_kind = CloseKind::kClose;
      leg.end_held = false;
    } else {
      goes_on = true;
      if (leg.close_kind == CloseKind::kReset) next_look = std::min(next_look, kTailLookMillis * sys::kNanosPerMilli);
    }
  }
  if (!goes_on) return Finish(session);
  if (!wheel_.armed(SessionTimer(session))) ArmAfter(SessionTimer(session), next_look);
}

// Whether the leg's send queue has changed since the last look. The kernel tells of space only when a third of the
// queue is free, which a slow reader may take longer for than LINGER.
bool Engine::TailMoved(Leg& leg) {
  const uint32_t before = std::exchange(leg.linger_queue_bytes, sys::UnacknowledgedBytes(leg.fd.get()));
  return leg.linger_queue_bytes > 0 && leg.linger_queue_bytes != before;
}

// A leg that is to be closed goes on until its own end, one that is to be reset until it has taken the tail; either
// until it has taken nothing of the tail for LINGER.
bool Engine::TailIsOver(Session& session, int index) {
  Leg& leg = session.leg[index];
  const bool to_be_reset = leg.close_kind == CloseKind::kReset;
  const Transfer::Result input = DiscardInput(session, leg);
  if (input == Transfer::Result::kSourceError) return true;
  if (leg.end_held && leg.writable) FlushTransform(leg);
  const bool has_ended = input == Transfer::Result::kSourceEnd || leg.close_kind == CloseKind::kClose;
  if (has_ended && !leg.end_held && !to_be_reset) return true;
  if (!to_be_reset && wheel_.armed(SessionTimer(session))) return false;
  if (TailMoved(leg)) session.active_tick = TickOf(now_);
  if (to_be_reset && leg.linger_queue_bytes == 0) return true;
  if (TickOf(now_) - session.active_tick < session.options->linger_nanos / sys::kNanosPerMilli) return false;
  if (leg.linger_queue_bytes > 0) {
    SetReason(session, EndCode::kUnsentData, index == kClient ? EndSide::kClient : EndSide::kUpstream, 0);
  }
  return true;
}

// Until the leg has nothing now (kNothing), or has ended or failed.
Transfer::Result Engine::DiscardInput(Session& session, Leg& leg) {
  for (int reads = kPumpReads; leg.readable; --reads) {
    if (reads == 0) {
      MakeReady(session);
      break;
    }
    const Transfer::Outcome outcome = transfer_.Discard(leg);
    if (outcome.result == Transfer::Result::kTaken) continue;
    leg.readable = false;
    return outcome.result;
  }
  return Transfer::Result::kNothing;
}

void Engine::ForceClose(Session& session, EndCode code, EndSide side, int error) {
  SetReason(session, code, side, error);
  SendLent(session);
  // There is no time for the tail, but an abort must not look like an end.
  for (const int index : {kClient, kUpstream}) {
    Leg& leg = session.leg[index];
    if (session.leg[1 - index].is_gone && leg.state != LegState::kBroken) leg.close_kind = CloseKind::kReset;
  }
  Finish(session);
}

// Reports the end and lets go of everything; the slot is free once the loop has, too.
void Engine::Finish(Session& session) {
  session.stage = SessionStage::kReleasing;
  session.returning = false;  // it ends here after all
  session.observer->OnEnd(Report(session));
  session.limits.reset();  // somebody else may have what it was given, at once
  wheel_.Disarm(SessionTimer(session));
  for (const int direction : {kUp, kDown}) {
    wheel_.Disarm(FlowTimer(session, direction));
    transfer_.DropRest(session.flow[direction]);
  }
  for (const int index : {kClient, kUpstream}) CloseLeg(session, index);
  FreeIfReleased(session);
}

void Engine::CloseLeg(Session& session, int index) {
  Leg& leg = session.leg[index];
  if (!leg.fd.valid()) return;
  if (index == kUpstream && session.upstream_freed) return;  // the loop is letting go of it, for somebody else
  // A reset is close()'s to send. Where the leg's own end has not been read, FIN goes out first: close() may find input
  // that nobody wants and make a reset of it.
  if (leg.close_kind == CloseKind::kReset) {
    sys::SetLingerReset(leg.fd.get());
  } else if (leg.state != LegState::kEnded || leg.transform != nullptr) {
    Shut(leg);
  }
  if (leg.watched) {
    loop_->ReleaseToClose(leg.watch);
  } else {
    leg.fd.reset();
  }
}

void Engine::OnReleased(Session& session, uint8_t kind) {
  --session.watches;
  if (kind == kKindClient || kind == session.upstream_kind) {
    Leg& leg = session.leg[kind == kKindClient ? kClient : kUpstream];
    leg.watched = false;
    if (kind != kKindClient && session.upstream_freed) {
      session.observer->framer()->OnUpstreamFree(worker_, std::move(leg.fd));
    } else if (kind != kKindClient || !session.returning) {
      leg.fd.reset();
    }
  } else if (session.connecting != nullptr) {
    OnAttemptReleased(session, kind);
  }
  FreeIfReleased(session);
}

void Engine::FreeIfReleased(Session& session) {
  if (session.stage != SessionStage::kReleasing || session.watches > 0) return;
  stats_.running.Add(-1);
  if (session.returning && session.leg[kClient].fd.valid()) return GiveClientBack(session);
  table_.Free(session);
}

void Engine::EndAll(EndCode code) {
  for (uint32_t slot = 0; slot < table_.capacity(); ++slot) {
    Session& session = table_.At(slot);
    switch (session.stage) {
      case SessionStage::kFree:
      case SessionStage::kReleasing:
        break;
      case SessionStage::kConnecting:
        ConnectingOver(session, code, EndSide::kUs, 0);
        // It may have an answer on its way to the client, for which there is no time.
        if (session.stage == SessionStage::kRelaying || session.stage == SessionStage::kDiscarding) Finish(session);
        break;
      case SessionStage::kRelaying:
      case SessionStage::kDiscarding:
        ForceClose(session, code, EndSide::kUs, 0);
        break;
    }
  }
}

uint32_t Engine::Review(uint32_t slot, uint32_t most, ReviewTally& tally) {
  const uint32_t end = std::min(table_.capacity(), slot + most);
  for (; slot < end; ++slot) {
    Session& session = table_.At(slot);
    if (session.stage != SessionStage::kConnecting && session.stage != SessionStage::kRelaying) continue;
    const relay::Review review = session.observer->OnReview();
    tally.Count(review);
    if (review == relay::Review::kRevoked) Revoke(session);
  }
  return slot < table_.capacity() ? slot : 0;
}

// One that has not even begun to connect.
void Engine::RevokeNew(Session& session) {
  session.stage = SessionStage::kConnecting;
  session.upstream_kind = 0xff;  // no attempt has won
  session.connecting = std::make_unique<Connecting>();
  Revoke(session);
}

void Engine::Revoke(Session& session) {
  if (session.stage == SessionStage::kConnecting) {
    ConnectingOver(session, EndCode::kRevoked, EndSide::kUs, 0);
    return;
  }
  if (session.framed && !session.observer->framer()->Quiet()) session.leg[kClient].close_kind = CloseKind::kReset;
  ForceClose(session, EndCode::kRevoked, EndSide::kUs, 0);
}

}  // namespace sluice::relay
