// How bytes move: events in, reads and writes out. Connecting is in engine_connect.cc, ends are in engine_close.cc.

#include "relay/engine.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "sys/net/socket_options.h"

namespace sluice::relay {
namespace {

EndSide SideOf(int leg) { return leg == kClient ? EndSide::kClient : EndSide::kUpstream; }

bool BothHaveEnded(const Session& session) {
  return session.leg[kClient].state == LegState::kEnded && session.leg[kUpstream].state == LegState::kEnded &&
         session.flow[kUp].state == FlowState::kEnded && session.flow[kDown].state == FlowState::kEnded;
}

bool OneHasEnded(const Session& session) {
  return session.flow[kUp].state == FlowState::kEnded || session.flow[kDown].state == FlowState::kEnded;
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
  s.framed = s.observer->framer() != nullptr;
  s.started = now_;
  s.active_tick = TickOf(now_);
  for (const int direction : {kUp, kDown}) {
    s.flow[direction].policy = PathPolicy(PathPolicy::ModeOf(s.options->splice, direction == kUp));
    const int64_t step = direction == kUp ? s.options->report_bytes_from_client : s.options->report_bytes_from_upstream;
    if (step > 0) s.flow[direction].report_at_bytes = step;
    const std::string& early = direction == kUp ? handoff.from_client : handoff.from_upstream;
    if (early.empty()) continue;
    if (!transfer_.Preload(s.flow[direction], early.data(), early.size())) {
      return ForceClose(s, EndCode::kNoResources, EndSide::kUs, ENOMEM);
    }
    s.flow[direction].state = NextFlowStep(FlowState::kReading, FlowEvent::kRestLeft).state;
  }
  s.leg[kClient].fd = std::move(handoff.client);
  s.leg[kClient].is_tcp = handoff.client_is_tcp;
  s.leg[kClient].writable = true;  // until the kernel says otherwise
  if (!WatchLeg(s, kClient, kKindClient)) return;
  if (!handoff.upstream.valid()) return StartConnecting(s, std::move(handoff.plan));
  s.stage = SessionStage::kRelaying;
  s.upstream_kind = kKindUpstream;
  s.leg[kUpstream].fd = std::move(handoff.upstream);
  s.leg[kUpstream].is_tcp = handoff.upstream_is_tcp;
  s.leg[kUpstream].writable = true;
  if (!WatchLeg(s, kUpstream, kKindUpstream)) return;
  wheel_.Arm(SessionTimer(s), IdleDeadline(s));
  Pump(s, kUp);
  if (s.stage == SessionStage::kRelaying) Pump(s, kDown);
  if (s.stage == SessionStage::kRelaying) Settle(s);
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
  switch (session.stage) {
    case SessionStage::kConnecting:
      // The client gave up: there is nobody left to connect for. (Its orderly end alone is none: it may still read. But
      // nobody knows how long an upstream takes that is to come to us: then it is.)
      if ((ready & (session.connecting->accepting ? kEnds : Loop::kError)) != 0) {
        const int error = sys::PendingSocketError(leg.fd.get());
        if (error == 0 && (ready & Loop::kError) != 0) return Unwatchable(session);
        ConnectingOver(session, EndCode::kReadFailed, EndSide::kClient, error);
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
  const Transfer::Outcome outcome = transfer_.Deliver(flow, sink);
  if (outcome.bytes > 0) session.active_tick = TickOf(now_);
  if (outcome.result == Transfer::Result::kSinkError) {
    SinkBroke(session, direction, outcome.error);
    return false;
  }
  Step(session, direction, outcome.rest_left ? FlowEvent::kRestLeft : FlowEvent::kRestGone);
  return !outcome.rest_left;
}

void Engine::Pump(Session& session, int direction) {
  if (session.framed) return PumpFramed(session, direction);
  Flow& flow = session.flow[direction];
  Leg& source = session.leg[SourceOf(direction)];
  Leg& sink = session.leg[SinkOf(direction)];
  int64_t budget = kPumpBytes;
  for (int reads = kPumpReads;;) {
    if (HoldsRest(flow.state) && !PumpRest(session, direction)) return;
    if (flow.state != FlowState::kReading || flow.delayed || !source.readable) return;
    if (budget <= 0 || reads-- == 0) return MakeReady(session);
    const Transfer::Outcome outcome = transfer_.Take(flow, source, sink, *session.options, now_);
    budget -= outcome.bytes;
    switch (outcome.result) {
      case Transfer::Result::kTaken:
        AfterTake(session, direction, outcome.bytes);
        if (outcome.rest_left) Step(session, direction, FlowEvent::kRestLeft);
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

void Engine::AfterTake(Session& session, int direction, int64_t bytes) {
  if (bytes == 0) return;
  Flow& flow = session.flow[direction];
  session.active_tick = TickOf(now_);
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
  session.flow[direction].delayed = false;
  session.flow[direction].after_delay = true;
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
  if (session.framed) nanos = std::min(nanos, session.observer->framer()->QuietNanos());
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
  if (!ready_.empty()) return 0;
  const int64_t ticks = wheel_.TicksToNext();
  if (ticks < 0) return -1;
  // Ticks are counted from the wheel's own time, which is that of the last turn.
  const sys::MonotonicNanos wheel_start = now_ - now_ % sys::kNanosPerMilli;
  return std::max<int64_t>(0, wheel_start + ticks * sys::kNanosPerMilli - now);
}

}  // namespace sluice::relay
