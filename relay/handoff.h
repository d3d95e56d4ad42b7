#ifndef SLUICE_RELAY_HANDOFF_H_
#define SLUICE_RELAY_HANDOFF_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "relay/connection_budget.h"
#include "relay/end_reason.h"
#include "relay/relay_options.h"
#include "relay/session_limits.h"
#include "relay/session_observer.h"
#include "relay/transform.h"
#include "sys/base/unique_fd.h"
#include "sys/net/socket_address.h"
#include "sys/net/socket_options.h"

namespace sluice::relay {

// What a socket towards an upstream is given before connect(). Part of the snapshot.
struct OutgoingOptions {
  std::optional<sys::SocketAddress> source_ipv4;  // `-e`, `external`; port 0
  std::optional<sys::SocketAddress> source_ipv6;
  std::string device;                                  // `-De`
  std::vector<sys::SocketOptionValue> socket_options;  // `-os`
  bool free_bind = false;  // the source address need not be one of ours yet (an IPv6 network that is routed to us)
};

// Candidates that the worker connects to by itself, in this order (RFC 8305: the next one starts when the one before
// fails or has not answered within 250 ms; the first to answer wins).
//
// With a `listener` it is the upstream that connects to us: the first one that comes from a candidate's address (any
// port; no candidates: from anywhere) is taken, within RelayOptions::idle_nanos; others get a reset. The client's end
// meanwhile ends the session, and the port with it; so do more than 32 KB of the client's, behind which its end could
// not be seen.
struct ConnectPlan {
  std::vector<sys::SocketAddress> candidates;  // at most kMostCandidates are tried
  sys::UniqueFd listener;                      // O_NONBLOCK and listening
  const OutgoingOptions* outgoing = nullptr;   // may be null; outlives the session (the observer holds the snapshot)
  // Where they are this session's alone: `outgoing` points to them.
  std::shared_ptr<const OutgoingOptions> own_outgoing;

  // Why there is no candidate: the errno of attempts that were made before. 0: none were.
  int error = 0;

  static constexpr int kMostCandidates = 16;
};

// Everything that a session starts with. Made by a handshake thread, or on the worker itself when nothing had to block;
// after Worker::Post nothing is left behind to misuse. Move-only.
//
// Without an upstream, a candidate or a listener the session only says what SessionObserver::AnswerNotConnected says
// and ends in order: how a client is refused that may still be sending.
//
// REQUIRES: client valid and O_NONBLOCK; `upstream` O_NONBLOCK where it is valid; options and observer not null.
struct Handoff {
  sys::UniqueFd client;
  sys::UniqueFd upstream;  // connected already; or empty, and `plan` says where to
  ConnectPlan plan;
  // A short recv from plain TCP tells that nothing more is there; left false where it is not known, which costs a
  // system call more.
  bool client_is_tcp = false;
  bool upstream_is_tcp = false;  // where `upstream` is given; else the candidate tells

  // What stands between a socket and its bytes (TLS whose handshake is over); null: nothing. That of the upstream goes
  // with `upstream`.
  std::unique_ptr<Transform> client_transform;
  std::unique_ptr<Transform> upstream_transform;

  // Read already by the handshake; each is delivered before anything that the worker reads.
  std::string from_client;
  std::string from_upstream;
  // With an `upstream`: what the client is told before anything that comes from there. Ours: it is not counted.
  std::string answer;

  const RelayOptions* options = nullptr;  // outlives the session (the observer holds the snapshot)
  std::unique_ptr<SessionObserver> observer;
  Admission admission;
  std::unique_ptr<SessionLimits> limits;  // null: none
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_HANDOFF_H_
