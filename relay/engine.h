#ifndef SLUICE_RELAY_ENGINE_H_
#define SLUICE_RELAY_ENGINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "relay/connecting.h"
#include "relay/framer.h"
#include "relay/handoff.h"
#include "relay/session_table.h"
#include "relay/timer_wheel.h"
#include "relay/transfer.h"
#include "sys/loop/loop.h"
#include "sys/stats/counter.h"
#include "sys/thread/clock.h"

namespace sluice::relay {

// What an engine counts; written by its worker, read by anyone.
struct EngineStats {
  sys::Counter sessions;  // begun
  sys::Counter running;   // begun and not yet freed
  sys::Counter connect_failed;
  sys::Counter refused_resources;  // ended because the loop or memory had no room
  sys::Counter budget_stops;       // a flow was put on the ready list since it had had its turn
};

// The sessions of one worker: takes hand-offs, is told of readiness and of time, and moves the bytes. Knows the loop
// only by loop.h; the worker owns the loop and the turns.
//
// A turn is: AdvanceTo(now), OnEvent for each event, RunReady, SendDeferred. Nothing here blocks, and every flow has a
// budget (kPumpBytes, kPumpReads) after which it waits on the ready list for the next turn: one busy session costs the
// others at most that.
//
// Worker only.
class Engine {
 public:
  // What one flow may move before others get their turn. 1 MB is four full pipes, about 200 us of copying.
  static constexpr int64_t kPumpBytes = 1024 * 1024;
  static constexpr int kPumpReads = 16;
  // A leg that is to be reset once it has taken the tail is looked at this often: the kernel does not tell.
  static constexpr int kTailLookMillis = 20;

  // Token kinds. The rest belongs to the worker.
  static constexpr uint8_t kKindClient = 0;
  static constexpr uint8_t kKindUpstream = 1;  // + the ordinal of the attempt
  static constexpr uint8_t kKindLast = kKindUpstream + ConnectPlan::kMostCandidates;

  static constexpr sys::Loop::Token MakeToken(uint32_t slot, uint32_t generation, uint8_t kind) {
    return uint64_t{generation} << 40 | uint64_t{slot} << 8 | kind;
  }
  static constexpr uint8_t KindOf(sys::Loop::Token token) { return static_cast<uint8_t>(token); }
  static constexpr uint32_t SlotOf(sys::Loop::Token token) { return static_cast<uint32_t>(token >> 8); }
  static constexpr uint32_t GenerationOf(sys::Loop::Token token) { return static_cast<uint32_t>(token >> 40); }

  // `loop` and `clock` must outlive this object.
  Engine(sys::Loop* loop, sys::MonotonicNanos now);
  ~Engine();

  // Whom framers are told of; null: nobody.
  void set_worker(Worker* worker) { worker_ = worker; }

  // Starts a session. Whatever goes wrong, the observer hears of the end.
  void Adopt(Handoff handoff);

  void OnEvent(sys::Loop::Token token, uint16_t ready);
  // The turn's time; timers that are due act.
  void AdvanceTo(sys::MonotonicNanos now);
  // Gives each flow that was stopped by its budget another one.
  void RunReady();
  // Sends what was held back for the sends of a turn to follow each other closely (transfer.h). Also at any time
  // before.
  void SendDeferred();
  // Nanoseconds until timers or ready flows need a turn; 0 = now, -1 = never.
  int64_t NanosToNext(sys::MonotonicNanos now) const;

  // Ends every session: FIN both ways, recorded as kShutDown.
  void EndAll(EndCode code);
  // Ends the sessions that are between two exchanges, now and from now on.
  void EndIdle();
  // Asks the observers of the sessions in `most` slots from `slot` on whether they may go on, and ends those that may
  // not: FIN both ways, or a reset where the client would take a part for the whole. The next slot; 0 at the end.
  uint32_t Review(uint32_t slot, uint32_t most, ReviewTally& tally);

  int running() const { return table_.used(); }
  const EngineStats& stats() const { return stats_; }
  const Transfer& transfer() const { return transfer_; }

 private:
  // engine_connect.cc
  void StartConnecting(Session& session, ConnectPlan plan);
  void TryNextCandidate(Session& session);
  void OnAttemptEvent(Session& session, uint8_t kind, uint16_t ready);
  void OnAttemptReleased(Session& session, uint8_t kind);
  void AttemptFailed(Session& session, Connecting::Attempt& attempt, int error);
  void AttemptWon(Session& session, Connecting::Attempt& attempt, uint16_t ready);
  void OnStagger(Session& session);
  // engine_accept.cc
  void StartAccepting(Session& session);
  void AcceptUpstream(Session& session);
  static bool ClientIsFarAhead(const Session& session);
  bool AddAttempt(Session& session, Connecting::Attempt attempt);
  bool SayFirst(Session& session, const std::string& answer);
  void ConnectingOver(Session& session, EndCode code, EndSide side, int error);

  // engine.cc: bytes
  void OnLegEvent(Session& session, int leg, uint16_t ready);
  void Pump(Session& session, int direction);
  void PumpPlain(Session& session, int direction);
  bool PumpRest(Session& session, int direction);
  bool MayTake(Session& session, int direction, int64_t& most_bytes);
  void HoldRest(Session& session, int direction, bool deferred);
  void AfterTake(Session& session, int direction, int64_t bytes);
  void Step(Session& session, int direction, FlowEvent event);
  void LegFailed(Session& session, int leg);
  void Unwatchable(Session& session);
  // `pass_on`: the leg is gone altogether, which the other one learns by a reset.
  static void Break(Leg& leg, bool pass_on);
  void SourceBroke(Session& session, int direction, int error);
  void SinkBroke(Session& session, int direction, int error);
  void Settle(Session& session);
  void MakeReady(Session& session);

  // engine_framed.cc: sessions with a framer
  void PumpFramed(Session& session, int direction);
  bool MayBegin(Session& session);
  void FramedEnd(Session& session, int direction, int error);
  static int64_t UndeliveredBytes(const Session& session, int error);
  void GoOn(Session& session, int direction, Framer::Next next, int error);
  void BecomePlain(Session& session);
  void CloseFramed(Session& session);
  bool SayToClient(Session& session, const std::string& text);
  void FreeUpstream(Session& session);
  void ReturnClient(Session& session);
  void GiveClientBack(Session& session);
  void SettleFramed(Session& session);
  void OnFramedTimer(Session& session);

  // engine_close.cc: ends
  void SetReason(Session& session, EndCode code, EndSide side, int error);
  void SendLent(Session& session);
  void BeginClose(Session& session);
  void Discard(Session& session);
  static bool TailMoved(Leg& leg);
  bool TailIsOver(Session& session, int leg);
  Transfer::Result DiscardInput(Session& session, Leg& leg);
  void Revoke(Session& session);
  void RevokeNew(Session& session);
  void ForceClose(Session& session, EndCode code, EndSide side, int error);
  void Finish(Session& session);
  void CloseLeg(Session& session, int leg);
  static void Shut(Leg& leg);
  void OnReleased(Session& session, uint8_t kind);
  void FreeIfReleased(Session& session);
  SessionReport Report(const Session& session) const;

  // Timers: three numbers a slot.
  static uint32_t SessionTimer(const Session& session) { return session.slot * 3; }
  static uint32_t FlowTimer(const Session& session, int direction) { return session.slot * 3 + 1 + direction; }
  void OnTimer(uint32_t id);
  void OnSessionTimer(Session& session);
  void ArmAfter(uint32_t id, int64_t nanos);
  bool WatchLeg(Session& session, int leg, uint8_t kind);
  static void TakeTransform(Leg& leg, std::unique_ptr<Transform> transform);
  static void FlushTransform(Leg& leg);
  uint32_t IdleDeadline(const Session& session) const;

  static uint32_t TickOf(sys::MonotonicNanos now) { return static_cast<uint32_t>(now / sys::kNanosPerMilli); }

  sys::Loop* const loop_;
  sys::MonotonicNanos now_;
  SessionTable table_;
  TimerWheel wheel_;
  Transfer transfer_;
  EngineStats stats_;
  std::vector<sys::Loop::Token> ready_;  // kind unused
  std::vector<sys::Loop::Token> ready_now_;
  std::vector<sys::Loop::Token> deferred_;  // the kind is the direction
  std::vector<uint32_t> due_;
  Worker* worker_ = nullptr;
  bool closing_idle_ = false;
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_ENGINE_H_
