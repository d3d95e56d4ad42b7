#ifndef SLUICE_RELAY_SESSION_H_
#define SLUICE_RELAY_SESSION_H_

#include <cstdint>
#include <limits>
#include <memory>

#include "relay/close_policy.h"
#include "relay/connecting.h"
#include "relay/connection_budget.h"
#include "relay/end_reason.h"
#include "relay/flow.h"
#include "relay/grace_delay.h"
#include "relay/path_policy.h"
#include "relay/relay_options.h"
#include "relay/rest_buffer.h"
#include "relay/session_limits.h"
#include "relay/session_observer.h"
#include "relay/transform.h"
#include "sys/base/unique_fd.h"
#include "sys/loop/loop.h"
#include "sys/pipes/pipe.h"
#include "sys/thread/clock.h"

namespace sluice::relay {

// The two directions, as indices: flow[kUp] takes from leg[kClient] and gives to leg[kUpstream]; flow[kDown] the
// reverse.
inline constexpr int kUp = 0;
inline constexpr int kDown = 1;
inline constexpr int kClient = 0;
inline constexpr int kUpstream = 1;
constexpr int SourceOf(int direction) { return direction; }
constexpr int SinkOf(int direction) { return 1 - direction; }

// One socket of a session, and what the loop has said of it. Readiness is sticky: set by events, cleared by EAGAIN (or
// by a short read, where that is proof enough).
struct Leg {
  sys::UniqueFd fd;
  sys::Loop::WatchId watch = 0;
  LegState state = LegState::kOpen;
  CloseKind close_kind = CloseKind::kClose;
  bool watched = false;
  bool shut = false;  // our side: shutdown(SHUT_WR) was called
  bool readable = false;
  bool writable = false;
  bool is_tcp = false;  // a short recv means drained; never so on a unix socket
  // RDHUP, HUP or ERR was reported: from then on a short recv proves nothing. PRI (a recv stops at the urgent byte):
  // until EAGAIN, since a ring reports it with every segment.
  bool hang_up_seen = false;
  bool urgent_seen = false;
  bool is_gone = false;             // kBroken for good: it is gone, and not just unwilling to take bytes
  bool end_held = false;            // our end is said, and the transform has it still
  uint32_t linger_queue_bytes = 0;  // send queue at the last look while discarding
  std::unique_ptr<Transform> transform;
};

// The state of one direction, moved by flow.h's machine. 80 bytes: an idle connection pays for two.
struct Flow {
  int64_t bytes = 0;
  int64_t spliced_bytes = 0;
  int64_t report_at_bytes = std::numeric_limits<int64_t>::max();
  RestBuffer rest;                  // held bytes of a copying flow
  std::unique_ptr<sys::Pipe> pipe;  // held bytes of a splicing flow; only while it holds a rest
  GraceDelay grace;
  PathPolicy policy;
  FlowState state = FlowState::kReading;
  bool delayed = false;       // a grace delay runs, or a limit's: woken by the wheel
  bool paced = false;         // of these, a limit's
  bool after_delay = false;   // the next read ends a grace delay: it takes one small buffer
  bool slow_sink = false;     // the last send was taken in part only: read less
  uint32_t unsent_bytes = 0;  // dropped when the direction was abandoned (saturates)
};

// What the flow has taken and not yet given.
inline int64_t HeldBytes(const Flow& flow) {
  return flow.rest.size() + (flow.pipe != nullptr ? flow.pipe->held_bytes() : 0);
}

enum class SessionStage : uint8_t {
  kFree,        // the slot is not in use
  kConnecting,  // the worker connects to the upstream
  kRelaying,
  kDiscarding,  // both flows have ended; input of a leg is read and thrown away until its end or LINGER
  kReleasing,   // the loop lets go of the descriptors; then the slot is free
};

// One client connection in its data phase. Lives in a slot of its worker's SessionTable; whoever holds a reference over
// a turn of the loop holds (slot, generation) instead.
struct Session {
  Leg leg[2];
  Flow flow[2];
  const RelayOptions* options = nullptr;
  std::unique_ptr<SessionObserver> observer;
  std::unique_ptr<Connecting> connecting;
  Admission admission;
  std::unique_ptr<SessionLimits> limits;  // null: none, and nothing is paid for it
  sys::MonotonicNanos started = 0;
  EndReason reason;
  uint32_t slot = 0;
  uint32_t generation = 0;
  uint32_t active_tick = 0;  // the last turn in which a byte moved
  SessionStage stage = SessionStage::kFree;
  uint8_t upstream_kind = 0;  // the token kind under which the upstream leg is watched
  uint8_t watches = 0;        // not yet released: while there are any, the slot stays
  bool reason_set = false;
  bool ready_listed = false;    // on the worker's ready list
  bool framed = false;          // the observer has a framer, which is asked where messages end
  bool returning = false;       // the client leaves as soon as it has everything (Framer::kReturn)
  bool upstream_freed = false;  // the upstream goes to Framer::OnUpstreamFree once the loop has let go of it
};

// REQUIRES: the session has limits.
inline FlowLimits& LimitsOf(Session& session, int direction) {
  return direction == kUp ? session.limits->from_client : session.limits->from_upstream;
}

static_assert(sizeof(Session) <= 320, "an idle relayed connection is promised 640 bytes in all");

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_SESSION_H_
