#ifndef SLUICE_RELAY_FIRST_BYTES_H_
#define SLUICE_RELAY_FIRST_BYTES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "relay/acceptor.h"
#include "relay/connection_budget.h"
#include "relay/timer_wheel.h"
#include "sys/base/unique_fd.h"
#include "sys/loop/loop.h"
#include "sys/net/socket_address.h"
#include "sys/stats/counter.h"
#include "sys/thread/clock.h"

namespace sluice::relay {

struct FirstBytesStats {
  sys::Counter waiting;
  sys::Counter spoke;   // given on
  sys::Counter silent;  // their time ran out
};

// Clients that must speak first and have not yet: watched by the worker, so that a silent client costs a slot and a
// timer and no handshake thread. Once there is something to read (bytes, the end, or an error, which the handshake then
// sees) the worker lets go of the descriptor and gives it to the handler.
//
// Worker only.
class FirstBytes {
 public:
  // What the user adds to tokens: (slot, generation) of this object's own.
  using TokenMaker = sys::Loop::Token (*)(uint32_t slot, uint32_t generation);

  FirstBytes(Worker* worker, sys::Loop* loop, TokenMaker make_token, sys::MonotonicNanos now);

  // Waits for at most `nanos`. A client whose bytes are there already is given on at once.
  void Add(std::shared_ptr<AdmissionHandler> handler, sys::UniqueFd client, sys::SocketAddress address,
           Admission admission, int64_t nanos);
  void OnEvent(uint32_t slot, uint32_t generation, uint16_t ready);
  void AdvanceTo(sys::MonotonicNanos now);
  // Nanoseconds until AdvanceTo() has something to do; -1 = never.
  int64_t NanosToNext(sys::MonotonicNanos now) const;
  // Closes every client that waits (shutdown).
  void EndAll();
  // Closes those that wait between two exchanges (AdmissionHandler::is_idle).
  void EndIdle();

  const FirstBytesStats& stats() const { return stats_; }

 private:
  enum class Phase : uint8_t { kFree, kWaiting, kSpoke, kSilent, kEnded };
  struct Waiting {
    std::shared_ptr<AdmissionHandler> handler;
    sys::UniqueFd fd;
    sys::SocketAddress address;
    Admission admission;
    sys::Loop::WatchId watch = 0;
    uint32_t generation = 0;
    Phase phase = Phase::kFree;
  };

  static uint32_t TickOf(sys::MonotonicNanos now) { return static_cast<uint32_t>(now / sys::kNanosPerMilli); }
  void LetGo(uint32_t slot, Phase phase);
  void Released(uint32_t slot);

  Worker* const worker_;
  sys::Loop* const loop_;
  const TokenMaker make_token_;
  sys::MonotonicNanos now_;
  TimerWheel wheel_;
  std::vector<std::unique_ptr<Waiting>> slots_;
  std::vector<uint32_t> free_;
  std::vector<uint32_t> due_;
  FirstBytesStats stats_;
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_FIRST_BYTES_H_
