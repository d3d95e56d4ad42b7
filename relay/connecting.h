#ifndef SLUICE_RELAY_CONNECTING_H_
#define SLUICE_RELAY_CONNECTING_H_

#include <cstdint>
#include <vector>

#include "relay/handoff.h"
#include "sys/base/errno_or.h"
#include "sys/base/unique_fd.h"
#include "sys/loop/loop.h"
#include "sys/net/socket_address.h"

namespace sluice::relay {

// What a session holds only while its worker connects to the upstream (and until the loop has let go of the attempts
// that lost). Attempts are started in the order of the plan, the next one when the one before fails or after
// kStaggerMillis (RFC 8305, section 5: 250 ms recommended); the first that connects wins.
struct Connecting {
  static constexpr int kStaggerMillis = 250;
  // A unix listener whose backlog is full says EAGAIN at once instead of letting us wait, as TCP does: try again this
  // often.
  static constexpr int kUnixRetryMillis = 20;

  struct Attempt {
    sys::UniqueFd fd;
    sys::Loop::WatchId watch = 0;
    uint8_t kind = 0;       // token kind
    uint8_t candidate = 0;  // its index in the plan
    bool watched = false;
    bool pending = true;  // neither failed nor won
  };

  ConnectPlan plan;
  std::vector<Attempt> attempts;
  size_t next_candidate = 0;
  int last_error = 0;
  bool accepting = false;  // the first attempt is the listener

  int pending() const {
    int count = 0;
    for (const Attempt& attempt : attempts) count += attempt.pending ? 1 : 0;
    return count;
  }
};

// A non-blocking socket on its way to `address`: created, given its options, bound, connect() called. Ready or in
// progress alike: the outcome is read with ConnectOutcome when the socket becomes writable. Errors of any of the steps
// are those of connect(); EAGAIN comes from a unix listener only.
sys::ErrnoOr<sys::UniqueFd> StartConnect(const sys::SocketAddress& address, const OutgoingOptions* outgoing);

// What became of a socket that the loop has reported on: 0 when it is connected, or the errno. `failure_reported`: the
// loop spoke of an error or a hang-up, only then the socket is asked. A socket that connected to itself (a loopback
// port that nobody listens on can be the one that the kernel chose for us) counts as refused.
int ConnectOutcome(int fd, const sys::SocketAddress& address, bool failure_reported);

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_CONNECTING_H_
