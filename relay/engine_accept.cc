// The worker waits for the upstream to come to us (SOCKS BIND, FTP's active mode): no thread held.

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "relay/engine.h"
#include "sys/base/errno_or.h"
#include "sys/net/listen_socket.h"
#include "sys/net/socket_address.h"
#include "sys/net/socket_options.h"

namespace sluice::relay {
namespace {

// Strangers turned away in one turn, before others get theirs.
constexpr int kAcceptsPerTurn = 16;
constexpr int kRetryMillis = 100;
// Half of what the smallest receive window of a new connection takes (tcp(7): 64 KB).
constexpr int kMostAheadBytes = 32 * 1024;

bool IsExpected(sys::SocketAddress peer, const std::vector<sys::SocketAddress>& expected) {
  peer.set_port(0);
  return expected.empty() || std::any_of(expected.begin(), expected.end(), [&](sys::SocketAddress address) {
           address.set_port(0);
           return address == peer;
         });
}

bool IsShortage(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

}  // namespace

void Engine::StartAccepting(Session& session) {
  Connecting& connecting = *session.connecting;
  connecting.accepting = true;
  ArmAfter(SessionTimer(session), session.options->idle_nanos);
  Connecting::Attempt attempt{.fd = std::move(connecting.plan.listener)};
  AddAttempt(session, std::move(attempt));
}

void Engine::AcceptUpstream(Session& session) {
  Connecting& connecting = *session.connecting;
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    sys::ErrnoOr<sys::Accepted> accepted = sys::AcceptFrom(connecting.attempts.front().fd.get());
    if (!accepted.ok()) {
      if (accepted.error().code == EAGAIN) return;
      if (IsShortage(accepted.error().code)) {
        return ArmAfter(FlowTimer(session, kUp), kRetryMillis * sys::kNanosPerMilli);
      }
      continue;  // this one is gone already
    }
    if (!IsExpected(accepted->peer, connecting.plan.candidates)) {
      sys::SetLingerReset(accepted->fd.get());
      continue;
    }
    connecting.plan.candidates.assign(1, accepted->peer);
    Connecting::Attempt attempt{.fd = std::move(accepted->fd)};
    if (!AddAttempt(session, std::move(attempt))) return;
    return AttemptWon(session, connecting.attempts.back(), 0);
  }
  ArmAfter(FlowTimer(session, kUp), 1 * sys::kNanosPerMilli);
}

// A client is not read while it waits for somebody to come. One that fills its connection meanwhile could leave unseen:
// its end is behind bytes for which there is no room, and the port would stay for as long as anybody may come.
bool Engine::ClientIsFarAhead(const Session& session) {
  int waiting_bytes = 0;
  return ioctl(session.leg[kClient].fd.get(), SIOCINQ, &waiting_bytes) == 0 && waiting_bytes > kMostAheadBytes;
}

// Has the loop watch it. False: the session is over.
bool Engine::AddAttempt(Session& session, Connecting::Attempt attempt) {
  Connecting& connecting = *session.connecting;
  attempt.kind = static_cast<uint8_t>(kKindUpstream + connecting.attempts.size());
  const int64_t watch = loop_->Watch(attempt.fd.get(), MakeToken(session.slot, session.generation, attempt.kind),
                                     sys::Loop::Interest::kBoth);
  if (watch < 0) {
    stats_.refused_resources.Add(1);
    ConnectingOver(session, EndCode::kNoResources, EndSide::kUs, static_cast<int>(-watch));
    return false;
  }
  attempt.watch = static_cast<sys::Loop::WatchId>(watch);
  attempt.watched = true;
  ++session.watches;
  connecting.attempts.push_back(std::move(attempt));
  return true;
}

}  // namespace sluice::relay
