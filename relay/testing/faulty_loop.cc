#include "relay/testing/faulty_loop.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace sluice::relay::testing {

int64_t FaultyLoop::Watch(int fd, Token token, Interest interest) {
  if (Chance(faults_.refuse)) {
    ++refused_;
    return Chance(500) ? -ENOMEM : -ENOSPC;
  }
  const int64_t watch = loop_->Watch(fd, token, interest);
  if (watch < 0) return watch;
  const WatchId id = static_cast<WatchId>(watch);
  watched_[id] = Watched();
  watched_[id].token = token;
  by_token_[token] = id;
  return watch;
}

sys::Loop::Token FaultyLoop::Forget(WatchId watch) {
  const Token token = watched_[watch].token;
  by_token_.erase(token);
  watched_.erase(watch);
  return token;
}

void FaultyLoop::ReleaseToClose(WatchId watch) {
  const Token token = Forget(watch);
  if (Chance(faults_.late_release)) {
    loop_->Release(watch);
  } else {
    prompt_.insert(token);
    loop_->ReleaseToClose(watch);
  }
}

void FaultyLoop::Give(Token token, uint16_t ready) {
  if (static_cast<int>(events_.size()) < kEventsPerTurn) events_.push_back({token, ready});
}

void FaultyLoop::TakeEvent(const Event& event) {
  if ((event.ready & kReleased) != 0) {
    if (prompt_.erase(event.token) == 0 && Chance(faults_.late_release)) {
      unreleased_.push_back(event.token);
    } else {
      Give(event.token, kReleased);
    }
    return;
  }
  const auto found = by_token_.find(event.token);
  if (found == by_token_.end()) return;  // released since
  Watched& watched = watched_[found->second];
  if (watched.lost) return;
  watched.owed |= event.ready;
}

absl::Span<const sys::Loop::Event> FaultyLoop::Turn(int64_t timeout_nanos) {
  events_.clear();
  const bool owes = !unreleased_.empty() || std::any_of(watched_.begin(), watched_.end(),
                                                        [](const auto& entry) { return entry.second.owed != 0; });
  for (const Token token : std::exchange(unreleased_, {})) Give(token, kReleased);
  for (const Event& event : loop_->Turn(owes ? 0 : timeout_nanos)) TakeEvent(event);
  for (auto& [id, watched] : watched_) {
    if (static_cast<int>(events_.size()) == kEventsPerTurn) break;
    if (watched.lost) continue;
    if (Chance(faults_.lose)) {
      watched.lost = true;
      watched.owed = 0;
      ++lost_;
      Give(watched.token, kReadable | kWritable | kReadHangUp | kHangUp | kError);
      continue;
    }
    if (watched.owed == 0) {
      // Nothing new, and said again. Not an error: that would be news.
      if (watched.last != 0 && Chance(faults_.again)) Give(watched.token, watched.last);
      continue;
    }
    if (Chance(faults_.late)) continue;
    uint16_t now = watched.owed;
    if (Chance(faults_.parts)) now &= static_cast<uint16_t>(random_());
    if (now == 0) continue;
    watched.owed &= static_cast<uint16_t>(~now);
    watched.last = now & (kReadable | kWritable | kPriority);
    if ((now & kReadable) != 0 && Chance(faults_.priority)) now |= kPriority;
    Give(watched.token, now);
  }
  return absl::MakeConstSpan(events_);
}

}  // namespace sluice::relay::testing
