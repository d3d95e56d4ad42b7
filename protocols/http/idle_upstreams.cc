#include "protocols/http/idle_upstreams.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace sluice::http {
namespace {

// Open, and nothing has arrived.
bool IsQuiet(int fd) {
  char byte;
  return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

}  // namespace

void IdleUpstreams::Expire(sys::MonotonicNanos now) {
  const auto fresh =
      std::find_if(idle_.begin(), idle_.end(), [&](const Idle& idle) { return now - idle.since < kMostNanos; });
  idle_.erase(idle_.begin(), fresh);
}

bool IdleUpstreams::Sweep(sys::MonotonicNanos now) {
  Expire(now);
  pollfd watched[kMost];
  for (size_t i = 0; i < idle_.size(); ++i) watched[i] = {idle_[i].upstream.fd.get(), POLLIN | POLLRDHUP, 0};
  if (idle_.empty() || poll(watched, idle_.size(), 0) <= 0) return !idle_.empty();
  for (size_t i = idle_.size(); i-- > 0;) {
    if (watched[i].revents != 0) idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return !idle_.empty();
}

void IdleUpstreams::Put(std::string route, Upstream upstream, sys::MonotonicNanos now) {
  Expire(now);
  const auto of_route = [&](const Idle& idle) { return idle.route == route; };
  if (std::count_if(idle_.begin(), idle_.end(), of_route) >= kMostOfOneRoute) {
    idle_.erase(std::find_if(idle_.begin(), idle_.end(), of_route));
  } else if (size() >= kMost) {
    idle_.erase(idle_.begin());
  }
  idle_.push_back({std::move(route), std::move(upstream), now});
}

std::optional<IdleUpstreams::Upstream> IdleUpstreams::Take(const std::string& route, sys::MonotonicNanos now) {
  Expire(now);
  for (size_t i = idle_.size(); i-- > 0;) {
    if (idle_[i].route != route) continue;
    Upstream upstream = std::move(idle_[i].upstream);
    idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
    if (IsQuiet(upstream.fd.get())) return upstream;
  }
  return std::nullopt;
}

}  // namespace sluice::http
