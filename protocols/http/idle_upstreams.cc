#include "protocols/http/idle_upstreams.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

namespace sluice::http {
namespace {

// Open, and nothing has arrived.
bool IsQuiet(int fd) {
  char byte;
  return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

}  // namespace

IdleUpstreams::List::iterator IdleUpstreams::Remove(List::iterator idle) {
  const auto route = of_route_.find(idle->route);
  std::vector<List::iterator>& same = route->second;
  same.erase(std::find(same.rbegin(), same.rend(), idle).base() - 1);
  if (same.empty()) of_route_.erase(route);
  return idle_.erase(idle);
}

void IdleUpstreams::Expire(sys::MonotonicNanos now) {
  while (!idle_.empty() && now - idle_.front().since >= kMostNanos) Remove(idle_.begin());
}

bool IdleUpstreams::Sweep(sys::MonotonicNanos now) {
  Expire(now);
  std::vector<pollfd> watched;
  watched.reserve(idle_.size());
  for (const Idle& idle : idle_) watched.push_back({idle.upstream.fd.get(), POLLIN | POLLRDHUP, 0});
  if (idle_.empty() || poll(watched.data(), watched.size(), 0) <= 0) return !idle_.empty();
  auto idle = idle_.begin();
  for (const pollfd& seen : watched) idle = seen.revents != 0 ? Remove(idle) : std::next(idle);
  return !idle_.empty();
}

void IdleUpstreams::Put(std::string route, Upstream upstream, sys::MonotonicNanos now) {
  Expire(now);
  const auto same = of_route_.find(route);
  if (same != of_route_.end() && static_cast<int>(same->second.size()) >= kMostOfOneRoute) {
    Remove(same->second.front());
  } else if (size() >= kMost) {
    Remove(idle_.begin());
  }
  idle_.push_back({std::move(route), std::move(upstream), now});
  of_route_[idle_.back().route].push_back(std::prev(idle_.end()));
}

std::optional<IdleUpstreams::Upstream> IdleUpstreams::Take(const std::string& route, sys::MonotonicNanos now) {
  Expire(now);
  for (auto same = of_route_.find(route); same != of_route_.end(); same = of_route_.find(route)) {
    const List::iterator youngest = same->second.back();
    Upstream upstream = std::move(youngest->upstream);
    Remove(youngest);
    if (IsQuiet(upstream.fd.get())) return upstream;
  }
  return std::nullopt;
}

}  // namespace sluice::http
