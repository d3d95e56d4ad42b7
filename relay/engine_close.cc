// How sessions end. relay/README.md has the truth table.

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <utility>

#include "relay/engine.h"
#include "sys/net/socket_options.h"

namespace sluice::relay {
namespace {

// Bytes that the kernel has not yet had acknowledged; 0 where it cannot say.
uint32_t SendQueueBytes(int fd) {
  int bytes = 0;
  return ioctl(fd, SIOCOUTQ, &bytes) == 0 ? static_cast<uint32_t>(bytes) : 0;
}

DataPath PathOf(const Flow& flow) {
  if (flow.bytes == 0) return DataPath::kNone;
  if (flow.spliced_bytes == 0) return DataPath::kCopy;
  return flow.spliced_bytes == flow.bytes ? DataPath::kSplice : DataPath::kBoth;
}

FlowReport ReportOf(const Flow& flow) {
  const int64_t held = flow.rest.size() + (flow.pipe != nullptr ? flow.pipe->held_bytes() : 0);
  return {.bytes = flow.bytes,
          .spliced_bytes = flow.spliced_bytes,
          .unsent_bytes = flow.unsent_bytes + held,
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
  if (!leg.shut) shutdown(leg.fd.get(), SHUT_WR);
  leg.shut = true;
}

// Both flows have ended.
void Engine::BeginClose(Session& session) {
  bool discard = false;
  for (const int index : {kClient, kUpstream}) {
    Leg& leg = session.leg[index];
    const Leg& other = session.leg[1 - index];
    leg.close_kind = CloseKindOf(leg.state, other.state, other.broke_while_reading);
    if (leg.close_kind == CloseKind::kReset && SendQueueBytes(leg.fd.get()) == 0) sys::SetLingerReset(leg.fd.get());
    if (leg.close_kind != CloseKind::kDiscard) continue;
    discard = true;
    Shut(leg);
    session.linger_queue_bytes = SendQueueBytes(leg.fd.get());
  }
  if (!discard) return Finish(session);
  session.stage = SessionStage::kDiscarding;
  wheel_.Disarm(FlowTimer(session, kUp));
  wheel_.Disarm(FlowTimer(session, kDown));
  ArmAfter(SessionTimer(session), session.options->linger_nanos);
  Discard(session);
}

// Reads and throws away what a leg still sends, so that the close does not become a reset that destroys the tail on its
// way to it. Goes on until the leg's own end, or LINGER without its taking any of the tail.
void Engine::Discard(Session& session) {
  bool all_over = true;
  for (const int index : {kClient, kUpstream}) {
    Leg& leg = session.leg[index];
    if (leg.close_kind != CloseKind::kDiscard) continue;
    bool over = false;
    for (int reads = kPumpReads; leg.readable && !over; --reads) {
      if (reads == 0) {
        MakeReady(session);
        break;
      }
      const Transfer::Outcome outcome = transfer_.Discard(leg);
      over = outcome.result == Transfer::Result::kSourceEnd || outcome.result == Transfer::Result::kSourceError;
    }
    if (over) leg.close_kind = CloseKind::kClose;
    all_over = all_over && over;
    if (!over && !wheel_.armed(SessionTimer(session))) {  // LINGER has passed
      const uint32_t queued = SendQueueBytes(leg.fd.get());
      if (queued == 0 || queued >= session.linger_queue_bytes) {
        if (queued > 0)
          SetReason(session, EndCode::kUnsentData, index == kClient ? EndSide::kClient : EndSide::kUpstream, 0);
        leg.close_kind = CloseKind::kClose;
        all_over = true;
      } else {
        session.linger_queue_bytes = queued;
        ArmAfter(SessionTimer(session), session.options->linger_nanos);
      }
    }
  }
  if (all_over) Finish(session);
}

void Engine::ForceClose(Session& session, EndCode code, EndSide side, int error) {
  SetReason(session, code, side, error);
  Finish(session);
}

// Reports the end and lets go of everything; the slot is free once the loop has, too.
void Engine::Finish(Session& session) {
  session.stage = SessionStage::kReleasing;
  session.observer->OnEnd(Report(session));
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
  // FIN goes out now even where the loop holds the descriptor for another turn; a reset is close()'s to send.
  if (leg.close_kind != CloseKind::kReset) Shut(leg);
  if (leg.watched) {
    loop_->Release(leg.watch);
  } else {
    leg.fd.reset();
  }
}

void Engine::OnReleased(Session& session, uint8_t kind) {
  --session.watches;
  if (kind == kKindClient || kind == session.upstream_kind) {
    Leg& leg = session.leg[kind == kKindClient ? kClient : kUpstream];
    leg.fd.reset();
    leg.watched = false;
  } else if (session.connecting != nullptr) {
    OnAttemptReleased(session, kind);
  }
  FreeIfReleased(session);
}

void Engine::FreeIfReleased(Session& session) {
  if (session.stage != SessionStage::kReleasing || session.watches > 0) return;
  stats_.running.Add(-1);
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
        break;
      case SessionStage::kRelaying:
      case SessionStage::kDiscarding:
        ForceClose(session, code, EndSide::kUs, 0);
        break;
    }
  }
}

}  // namespace sluice::relay
