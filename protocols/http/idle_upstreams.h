#ifndef SLUICE_PROTOCOLS_HTTP_IDLE_UPSTREAMS_H_
#define SLUICE_PROTOCOLS_HTTP_IDLE_UPSTREAMS_H_

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "sys/base/unique_fd.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::http {

// Connections to origins that have answered in full and wait for the next request, of one service on one worker. In no
// loop: what has become of one is looked at when it is taken, and of all of them in Sweep(), which is to be called
// about once a second. A connection that has ended, or on which anything arrived meanwhile (nobody asked for it, so it
// is the answer to nothing), is closed.
//
// Bounded; the oldest gives way.
//
// Worker only; no call blocks.
class IdleUpstreams {
 public:
  struct Upstream {
    sys::UniqueFd fd;
    sys::SocketAddress address;
  };

  // As many as clients come at once: each one more is a connection less that is made. Each is a descriptor here and one
  // at the origin, which 30 s of silence give back.
  static constexpr int kMost = 512;
  static constexpr int kMostOfOneRoute = 256;
  // Servers in use close theirs after 5 (node), 60 or 75 s (nginx).
  static constexpr int64_t kMostNanos = 30 * sys::kNanosPerSecond;

  // `route`: what two requests must have in common to use one connection.
  void Put(std::string route, Upstream upstream, sys::MonotonicNanos now);
  // The one of this route that was put last.
  std::optional<Upstream> Take(const std::string& route, sys::MonotonicNanos now);
  // Closes what has ended or is too old; one system call for all. False: none is left.
  bool Sweep(sys::MonotonicNanos now);

  int size() const { return static_cast<int>(idle_.size()); }

 private:
  struct Idle {
    std::string route;
    Upstream upstream;
    sys::MonotonicNanos since = 0;
  };
  using List = std::list<Idle>;

  void Expire(sys::MonotonicNanos now);
  // Closes it, or gives it away. Returns the next younger one.
  List::iterator Remove(List::iterator idle);

  List idle_;                                                               // oldest first
  absl::flat_hash_map<std::string, std::vector<List::iterator>> of_route_;  // oldest first
};

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_IDLE_UPSTREAMS_H_
