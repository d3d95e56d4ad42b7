#ifndef SLUICE_RELAY_SESSION_OBSERVER_H_
#define SLUICE_RELAY_SESSION_OBSERVER_H_

#include <cstdint>
#include <string>

#include "relay/end_reason.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::relay {

class Framer;

// How the bytes of one direction went.
enum class DataPath : uint8_t { kNone, kCopy, kSplice, kBoth };

// What one direction has moved.
struct FlowReport {
  int64_t bytes = 0;          // taken from the leg that this direction reads
  int64_t spliced_bytes = 0;  // of these, through a pipe
  int64_t unsent_bytes = 0;   // of these, never given to the other leg
  DataPath path = DataPath::kNone;
};

struct SessionReport {
  EndReason reason;
  FlowReport from_client;
  FlowReport from_upstream;
  sys::MonotonicNanos started = 0;  // hand-off to the worker
  sys::MonotonicNanos ended = 0;
};

// What a new configuration means for a session that runs.
enum class Review : uint8_t {
  kKept,     // it goes on as it is; also where nobody asks
  kChanged,  // it goes on, under another rule than before
  kRevoked,  // it is no longer allowed, and ends
};

// What a new configuration has come to for all sessions.
struct ReviewTally {
  int64_t kept = 0;
  int64_t changed = 0;
  int64_t revoked = 0;

  void Count(Review review) { (review == Review::kKept ? kept : review == Review::kChanged ? changed : revoked) += 1; }
};

// Told what becomes of one session: the door through which the layers above learn of bytes and ends, and where they
// keep what the record needs. One object a session, made by whoever hands the session off, owned by the session. Its
// last call is OnEnd or the destructor (a session that was refused before it began).
//
// Worker only: no call may block, and none is made for each byte or read.
class SessionObserver {
 public:
  virtual ~SessionObserver() = default;

  // The worker's own connect() succeeded. `upstream_fd` is borrowed for the call (getsockname for the record).
  virtual void OnConnected(int upstream_fd, const sys::SocketAddress& upstream) = 0;

  // A connection attempt to this candidate failed; the next one, if any, is tried.
  virtual void OnConnectFailed(const sys::SocketAddress& upstream, int error) = 0;

  // What the client is told once the worker's connect() has succeeded, before anything that the upstream says (a SOCKS
  // reply, an HTTP 200). Called after OnConnected; usually nothing.
  virtual std::string AnswerConnected(int upstream_fd) {
    (void)upstream_fd;
    return {};
  }
  // What the client is told when connecting has failed, before it is closed. Usually nothing.
  virtual std::string AnswerNotConnected(const EndReason& reason) {
    (void)reason;
    return {};
  }

  // Where messages end, if anybody has to know (framer.h): a part of this object. Always the same answer.
  virtual Framer* framer() { return nullptr; }

  // Whether this session would still be let in: asked when a new configuration counts (Worker::Review), and when the
  // session begins, since it may have been judged just before.
  virtual Review OnReview() { return Review::kKept; }

  // RelayOptions::report_bytes_* were moved since the last such call. The report has the sums so far, no reason.
  virtual void OnProgress(const SessionReport& so_far) = 0;

  // The session is over; its descriptors are closed right after.
  virtual void OnEnd(const SessionReport& report) = 0;
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_SESSION_OBSERVER_H_
