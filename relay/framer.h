#ifndef SLUICE_RELAY_FRAMER_H_
#define SLUICE_RELAY_FRAMER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "relay/connection_budget.h"
#include "relay/relay_options.h"
#include "relay/session_observer.h"
#include "relay/transform.h"
#include "sys/base/unique_fd.h"

namespace sluice::relay {

class Worker;

// A client that leaves its session, to be served anew: its descriptor, of which the loop has let go, its place in the
// budget, and the observer of the session that has ended (the framer is part of it).
struct Returned {
  sys::UniqueFd client;
  Admission admission;
  std::unique_ptr<SessionObserver> observer;
  std::unique_ptr<Transform> transform;  // of the client
};

// Where messages end: what a session asks whose client may send one request after the other (HTTP keep-alive). The
// engine moves the bytes and knows nothing of what they mean; the framer knows, and moves none. A session without a
// framer is a plain relay.
//
// Every read of either direction that is not a raw stretch (below) is shown to OnBytes, which says what to send in its
// place. The parts of a body that nobody has to look at go raw: copied through unseen, or spliced when they are worth
// it, and counted to the byte.
//
//          kUp: client to upstream                      kDown: upstream to client
//     head  -> another head                        head -> another head
//     body  -> raw, or rewritten (chunk lines)     body -> raw, or rewritten
//     then  -> Wants(kUp) is false until the       then -> kGoOn: the next request may come
//              answer is over
//
// Part of the session's observer, and as long-lived. Worker only; no call may block, allocate for each byte, or make a
// system call.
class Framer {
 public:
  // How the session goes on after what was said to be sent.
  enum class Next : uint8_t {
    kGoOn,
    kTunnel,  // no more messages: a plain relay from here on. TakeHeld() goes to the upstream first
    kEndUp,   // nothing more goes to the upstream, which learns it by an end (FIN); what it says still counts
    kClose,   // TakeAnswer() is the last that the client gets; then the session ends in order
    kAbort,   // what the other side has got of the one that ended is not whole: it is reset
    kReturn,  // the client leaves the session (OnReturned) as soon as it has everything
  };
  static constexpr int64_t kUntilEnd = std::numeric_limits<int64_t>::max();

  struct Step {
    size_t taken = 0;       // of the bytes shown; all of them, unless `pass` or `next` ends the step
    size_t pass_begin = 0;  // of these, a stretch that is sent as it is, behind `out`
    size_t pass_bytes = 0;
    Next next = Next::kGoOn;
  };

  virtual ~Framer() = default;

  // `bytes` were read; what is to be sent in their place is appended to `out`. What cannot be sent yet (a request
  // behind the one that runs) the framer holds; `bytes` is empty when HoldsInput() made the engine ask.
  virtual Step OnBytes(int direction, absl::string_view bytes, std::string& out) = 0;
  // The leg that is read has ended (error 0), has failed, or nothing came of it for too long (ETIMEDOUT). Not kGoOn.
  // `undelivered_bytes`, of an upstream: so many of the bytes that were sent to it last it has never received, which is
  // known for certain; 0 where it is not.
  virtual Next OnEnd(int direction, int error, int64_t undelivered_bytes) = 0;

  // So many of the next bytes may go unseen: 0 = none. OnRaw counts those that have gone.
  virtual int64_t RawBytes(int direction) const = 0;
  virtual Next OnRaw(int direction, int64_t bytes) = 0;

  // The upstream is in the middle of a head. Until it is whole its bytes are no sign of life: who drips them would
  // otherwise keep the session for ever.
  virtual bool HeadInPart() const { return false; }
  // The client waits for a word that may not come: when nothing has moved for so long, OnWaited() gives one. 0: it
  // does not. Asked after each read of the client.
  virtual int64_t WaitNanos() const { return 0; }
  virtual std::string OnWaited() { return {}; }

  // Whether the direction may be read now.
  virtual bool Wants(int direction) const = 0;
  // Bytes of the client are held and may go on now.
  virtual bool HoldsInput() const = 0;
  virtual std::string TakeHeld() = 0;
  virtual std::string TakeAnswer() = 0;

  // Between two exchanges; then the client has this long for its next request.
  virtual bool Quiet() const = 0;
  virtual int64_t QuietNanos() const = 0;
  // Asked when the session ends or the client leaves: the upstream may serve somebody else. It is then given to
  // OnUpstreamFree in place of being closed.
  virtual bool UpstreamIsReusable() const = 0;
  // Asked when the client leaves and the upstream is closed: it has got a part only of what it takes the end for the
  // end of. Then it is reset.
  virtual bool UpstreamIsCut() const { return false; }
  // Of the plain relay that kTunnel makes. Outlives the session.
  virtual const RelayOptions* TunnelOptions() const = 0;

  // `worker` is the one that runs the session; null where there is none (tests of the engine).
  virtual void OnUpstreamFree(Worker* worker, sys::UniqueFd upstream) = 0;
  virtual void OnReturned(Worker* worker, Returned returned) = 0;
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_FRAMER_H_
