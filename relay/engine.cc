// How bytes move: events in, reads and writes out. Connecting is in engine_connect.cc, time in
// engine_time.cc, ends are in engine_close.cc.

#include "relay/engine.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "sys/net/socket_options.h"

namespace sluice::relay {
namespace {

bool BothHaveEnded(const Session& session) {
  return session.leg[kClient].state == LegState::kEnded && session.leg[kUpstream].state == LegState::kEnded &&
         session.flow[kUp].state == FlowState::kEnded && session.flow[kDown].state == FlowState::kEnded;
}

}  // namespace

Engine::Engine(sys::Loop* loop, sys::MonotonicNanos now) : loop_(loop), now_(now), wheel_(TickOf(now)) {}

Engine::~Engine() = default;

void Engine::Adopt(Handoff handoff) {
  Session* session = table_.Allocate();
  if (session == nullptr) {
    stats_.refused_resources.Add(1);
    SessionReport report;
    report.reason = {EndCode::kNoResources, EndSide::kUs, ENOMEM};
    report.started = report.ended = now_;
    handoff.observer->OnEnd(report);
    return;
  }
  stats_.sessions.Add(1);
  stats_.running.Add(1);
  wheel_.Reserve(table_.capacity() * 3);
  Session& s = *session;
  s.options = handoff.options;
  s.observer = std::move(handoff.observer);
  s.admission = std::move(handoff.admission);
  s.limits = std::move(handoff.limits);
  s.framed = s.observer->framer() != nullptr;
  s.started = now_;
  s.active_tick = TickOf(now_);
  const bool transformed = handoff.client_transform != nullptr || handoff.upstream_transform != nullptr;
  for (const int direction : {kUp, kDown}) {
    s.flow[direction].policy = PathPolicy(PathPolicy::ModeOf(s.options->splice, direction == kUp));
    if (transformed) s.flow[direction].policy.Refuse();
    const int64_t step = direction == kUp ? s.options->report_bytes_from_client : s.options->report_bytes_from_upstream;
    if (step > 0) s.flow[direction].report_at_bytes = step;
    std::string& early = direction == kUp ? handoff.from_client : handoff.from_upstream;
    if (s.limits != nullptr && !early.empty()) {
      LimitsOf(s, direction).Charge(static_cast<int64_t>(early.size()), now_);
    }
    if (direction == kDown) early.insert(0, handoff.answer);
    if (early.empty()) continue;
    if (!transfer_.Preload(s.flow[direction], early.data(), early.size())) {
      return ForceClose(s, EndCode::kNoResources, EndSide::kUs, ENOMEM);
    }
    if (direction == kDown) s.flow[kDown].bytes -= static_cast<int64_t>(handoff.answer.size());
    s.flow[direction].state = NextFlowStep(FlowState::kReading, FlowEvent::kRestLeft).state;
  }
  s.leg[kClient].fd = std::move(handoff.client);
  s.leg[kClient].is_tcp = handoff.client_is_tcp;
  s.leg[kClient].writable = true;  // until the kernel says otherwise
  TakeTransform(s.leg[kClient], std::move(handoff.client_transform));
  if (!WatchLeg(s, kClient, kKindClient)) return;
  // A new configuration may have come between the judgement and this.
  if (s.observer->OnReview() == relay::Review::kRevoked) return RevokeNew(s);
  if (!handoff.upstream.valid()) return StartConnecting(s, std::move(handoff.plan));
  s.stage = SessionStage::kRelaying;
  s.upstream_kind = kKindUpstream;
  s.leg[kUpstream].fd = std::move(handoff.upstream);
  s.leg[kUpstream].is_tcp = handoff.upstream_is_tcp;
  s.leg[kUpstream].writable = true;
  TakeTransform(s.leg[kUpstream], std::move(handoff.upstream_transform));
  if (!WatchLeg(s, kUpstream, kKindUpstream)) return;
  wheel_.Arm(SessionTimer(s), IdleDeadline(s));
  for (const int direction : {kUp, kDown}) {
    // What came early leaves with the other messages of the turn; nothing is known to be readable yet.
    if (HoldsRest(s.flow[direction].state)) {
      deferred_.push_back(MakeToken(s.slot, s.generation, static_cast<uint8_t>(direction)));
    } else if (s.stage == SessionStage::kRelaying) {
      Pump(s, direction);
    }
  }
  if (s.stage == SessionStage::kRelaying) Settle(s);
}

// What it has read ahead, no event will tell of.
void Engine::TakeTransform(Leg& leg, std::unique_ptr<Transform> transform) {
  leg.transform = std::move(transform);
  if (leg.transform != nullptr) leg.readable = true;
}

// There is room in the socket: what the transform holds for it goes first, then what waited for that.
void Engine::FlushTransform(Leg& leg) {
  const int held = leg.transform->Flush(leg.fd.get());
  if (held == -EAGAIN) {
    leg.writable = false;
    return;
  }
  if (leg.transform->waits_for_room()) leg.readable = true;
  // A failure of the socket is told by the next call that moves bytes; an end that cannot be said is over, too.
  if (std::exchange(leg.end_held, false)) shutdown(leg.fd.get(), SHUT_WR);
}

bool Engine::WatchLeg(Session& session, int index, uint8_t kind) {
  Leg& leg = session.leg[index];
  const int64_t watch =
      loop_->Watch(leg.fd.get(), MakeToken(session.slot, session.generation, kind), sys::Loop::Interest::kBoth);
  if (watch < 0) {
    stats_.refused_resources.Add(1);
    ForceClose(session, EndCode::kNoResources, EndSide::kUs, static_cast<int>(-watch));
    return false;
  }
  leg.watch = static_cast<sys::Loop::WatchId>(watch);
  leg.watched = true;
  ++session.watches;
  return true;
}

void Engine::OnEvent(sys::Loop::Token token, uint16_t ready) {
  if (transfer_.FullOfDeferred()) SendDeferred();
  Session* session = table_.Find(SlotOf(token), GenerationOf(token));
  if (session == nullptr) return;
  const uint8_t kind = KindOf(token);
  if ((ready & sys::Loop::kReleased) != 0) return OnReleased(*session, kind);
  if (kind == kKindClient) return OnLegEvent(*session, kClient, ready);
  if (kind == session->upstream_kind) return OnLegEvent(*session, kUpstream, ready);
  OnAttemptEvent(*session, kind, ready);
}

void Engine::OnLegEvent(Session& session, int index, uint16_t ready) {
  using sys::Loop;
  Leg& leg = session.leg[index];
  constexpr uint16_t kEnds = Loop::kReadHangUp | Loop::kHangUp | Loop::kError;
  if ((ready & (Loop::kReadable | Loop::kPriority | kEnds)) != 0) leg.readable = true;
  if ((ready & Loop::kPriority) != 0) leg.urgent_seen = true;
  if ((ready & kEnds) != 0) leg.hang_up_seen = true;
  if ((ready & (Loop::kWritable | Loop::kHangUp | Loop::kError)) != 0) leg.writable = true;
  if (leg.transform != nullptr && leg.writable) FlushTransform(leg);
  switch (session.stage) {
    case SessionStage::kConnecting:
      // The client gave up: there is nobody left to connect for. (Its orderly end alone is none: it may still read. But
      // nobody knows how long an upstream takes that is to come to us: then it is.)
      if ((ready & (session.connecting->accepting ? kEnds : Loop::kError)) != 0) {
        const int error = sys::PendingSocketError(leg.fd.get());
        if (error == 0 && (ready & Loop::kError) != 0) return Unwatchable(session);
        ConnectingOver(session, EndCode::kReadFailed, EndSide::kClient, error);
      } else if (session.connecting->accepting && ClientIsFarAhead(session)) {
        ConnectingOver(session, EndCode::kLimitReached, EndSide::kUs, ENOBUFS);
      }
      return;
    case SessionStage::kRelaying:
      break;
    case SessionStage::kDiscarding:
      return Discard(session);
    case SessionStage::kFree:
    case SessionStage::kReleasing:
      return;
  }
  if ((ready & Loop::kError) != 0 && leg.state != LegState::kBroken) LegFailed(session, index);
  const int from_here = index;  // the flow that reads this leg has the leg's index
  if (session.stage == SessionStage::kRelaying) Pump(session, from_here);
  if (session.stage == SessionStage::kRelaying && HoldsRest(session.flow[1 - from_here].state)) {
    Pump(session, 1 - from_here);
  }
  if (session.stage == SessionStage::kRelaying) Settle(session);
}

// Delivers what the flow holds. False: blocked, broken or over, the pump stops.
bool Engine::PumpRest(Session& session, int direction) {
  Flow& flow = session.flow[direction];
  Leg& sink = session.leg[SinkOf(direction)];
  if (!sink.writable) return false;
  // The end that follows goes into the same packet. Not so before a reset, which waits until all has been sent.
  const bool end_follows = flow.state == FlowState::kFlushing && !session.leg[SourceOf(direction)].is_gone;
  const Transfer::Outcome outcome = transfer_.Deliver(flow, sink, end_follows);
  if (outcome.bytes > 0) session.active_tick = TickOf(now_);
  if (outcome.result == Transfer::Result::kSinkError) {
    SinkBroke(session, direction, outcome.error);
    return false;
  }
  if (outcome.result == Transfer::Result::kNoMemory) {
    ForceClose(session, EndCode::kNoResources, EndSide::kUs, outcome.error);
    return false;
  }
  Step(session, direction, outcome.rest_left ? FlowEvent::kRestLeft : FlowEvent::kRestGone);
  return !outcome.rest_left;
}

void Engine::Pump(Session& session, int direction) {
  if (session.framed) {
    PumpFramed(session, direction);
  } else {
    PumpPlain(session, direction);
  }
  if (session.limits != nullptr) LimitsOf(session, direction).Pause();
}

void Engine::PumpPlain(Session& session, int direction) {
  Flow& flow = session.flow[direction];
  Leg& source = session.leg[SourceOf(direction)];
  Leg& sink = session.leg[SinkOf(direction)];
  int64_t budget = kPumpBytes;
  for (int reads = kPumpReads;;) {
    if (HoldsRest(flow.state) && !PumpRest(session, direction)) return;
    if (flow.state != FlowState::kReading || flow.delayed || !source.readable) return;
    if (budget <= 0 || reads-- == 0) return MakeReady(session);
    int64_t most_bytes = FlowLimits::kNoLimit;
    if (session.limits != nullptr && !MayTake(session, direction, most_bytes)) return;
    const Transfer::Outcome outcome = transfer_.Take(flow, source, sink, *session.options, most_bytes, now_);
    if (session.limits != nullptr) LimitsOf(session, direction).Took(outcome.bytes);
    budget -= outcome.bytes;
    switch (outcome.result) {
      case Transfer::Result::kTaken:
        AfterTake(session, direction, outcome.bytes);
        if (outcome.rest_left) HoldRest(session, direction, outcome.deferred);
        if (outcome.deferred) return;
        break;
      case Transfer::Result::kNothing:
        return;
      case Transfer::Result::kSourceEnd:
        // After an abort that some other call has met, the end that is read is none.
        if (source.is_gone) return SourceBroke(session, direction, 0);
        source.state = LegState::kEnded;
        source.readable = false;
        return Step(session, direction, FlowEvent::kSourceEnd);
      case Transfer::Result::kSourceError:
        return SourceBroke(session, direction, outcome.error);
      case Transfer::Result::kSinkError:
        return SinkBroke(session, direction, outcome.error);
      case Transfer::Result::kNoMemory:
        return ForceClose(session, EndCode::kNoResources, EndSide::kUs, outcome.error);
    }
  }
}

// Whether the direction may read now, and how much. If not, the wheel wakes it, or the session is over.
bool Engine::MayTake(Session& session, int direction, int64_t& most_bytes) {
  FlowLimits& limits = LimitsOf(session, direction);
  most_bytes = limits.MayTake(now_);
  if (most_bytes > 0) return true;
  if (most_bytes == FlowLimits::kSpent) {
    ForceClose(session, EndCode::kLimitReached, EndSide::kUs, 0);
    return false;
  }
  session.active_tick = TickOf(now_);  // it is us who keep it waiting
  session.flow[direction].delayed = session.flow[direction].paced = true;
  ArmAfter(FlowTimer(session, direction), limits.until(now_) - now_);
  return false;
}

void Engine::HoldRest(Session& session, int direction, bool deferred) {
  Step(session, direction, FlowEvent::kRestLeft);
  if (deferred) deferred_.push_back(MakeToken(session.slot, session.generation, static_cast<uint8_t>(direction)));
}

void Engine::AfterTake(Session& session, int direction, int64_t bytes) {
  if (bytes == 0) return;
  Flow& flow = session.flow[direction];
  if (!session.framed || direction == kUp || !session.observer->framer()->HeadInPart()) {
    session.active_tick = TickOf(now_);
  }
  flow.after_delay = false;
  if (session.options->grace.enabled()) {
    if (flow.grace.OnRead(session.options->grace, bytes, now_)) {
      flow.delayed = true;
      ArmAfter(FlowTimer(session, direction), session.options->grace.delay_millis * sys::kNanosPerMilli);
    }
    session.flow[1 - direction].grace.OnOtherDirectionRead();
  }
  if (flow.bytes >= flow.report_at_bytes) {
    session.observer->OnProgress(Report(session));
    flow.report_at_bytes = flow.bytes + (direction == kUp ? session.options->report_bytes_from_client
                                                          : session.options->report_bytes_from_upstream);
  }
}

void Engine::Step(Session& session, int direction, FlowEvent event) {
  Flow& flow = session.flow[direction];
  const FlowStep step = NextFlowStep(flow.state, event);
  flow.state = step.state;
  // An end is a sign of life: whoever waits for what follows it has the whole idle time for that.
  if (event == FlowEvent::kSourceEnd || event == FlowEvent::kAbandon) session.active_tick = TickOf(now_);
  switch (step.action) {
    case FlowAction::kNone:
      return;
    case FlowAction::kShutSink:
      // Where nothing more is to come either way, close() follows at once and says it.
      if (!BothHaveEnded(session)) Shut(session.leg[SinkOf(direction)]);
      return;
    case FlowAction::kDropRest:
      transfer_.DropRest(flow);
      return;
  }
}

// After each batch of pumping: has one end to be followed by the other (-C), is the session over?
void Engine::Settle(Session& session) {
  if (session.framed) return SettleFramed(session);
  Flow& up = session.flow[kUp];
  Flow& down = session.flow[kDown];
  const bool up_ended = up.state == FlowState::kEnded;
  const bool down_ended = down.state == FlowState::kEnded;
  if (up_ended && down_ended) return BeginClose(session);
  if (up_ended == down_ended) return;
  const int other = up_ended ? kDown : kUp;
  const Leg& source = session.leg[SourceOf(other)];
  const Flow& flow = session.flow[other];
  if (source.state == LegState::kBroken && flow.state == FlowState::kReading) {
    // The reads that tell what a broken leg still had to say.
    Pump(session, other);
    if (session.stage != SessionStage::kRelaying) return;
    if (flow.state == FlowState::kEnded) return BeginClose(session);
  }
  const bool has_more_to_say = source.state == LegState::kBroken && (source.readable || HoldsRest(flow.state));
  if (!session.options->half_close && flow.state != FlowState::kFlushing && !has_more_to_say) {
    Step(session, other, FlowEvent::kSourceEnd);
    if (flow.state == FlowState::kEnded) return BeginClose(session);
    TailMoved(session.leg[SinkOf(other)]);  // what later looks compare with
  }
  // The half-closed session has a shorter idle time.
  wheel_.Arm(SessionTimer(session), IdleDeadline(session));
}

void Engine::MakeReady(Session& session) {
  stats_.budget_stops.Add(1);
  if (session.ready_listed) return;
  session.ready_listed = true;
  ready_.push_back(MakeToken(session.slot, session.generation, 0));
}

void Engine::SendDeferred() {
  // The list may grow meanwhile: the end of an answer lets the next request go.
  for (size_t i = 0; i < deferred_.size(); ++i) {
    Session* session = table_.Find(SlotOf(deferred_[i]), GenerationOf(deferred_[i]));
    if (session == nullptr || session->stage != SessionStage::kRelaying) continue;
    Pump(*session, KindOf(deferred_[i]));
    if (session->stage == SessionStage::kRelaying) Settle(*session);
  }
  deferred_.clear();
  transfer_.AfterDeferred();
}

void Engine::RunReady() {
  if (ready_.empty()) return;
  ready_now_.swap(ready_);
  for (const sys::Loop::Token token : ready_now_) {
    Session* session = table_.Find(SlotOf(token), GenerationOf(token));
    if (session == nullptr) continue;
    session->ready_listed = false;
    if (session->stage == SessionStage::kDiscarding) Discard(*session);
    for (const int direction : {kUp, kDown}) {
      if (session->stage == SessionStage::kRelaying) Pump(*session, direction);
    }
    if (session->stage == SessionStage::kRelaying) Settle(*session);
  }
  ready_now_.clear();
}

}  // namespace sluice::relay
