#include "sys/loop/testing/faulty_loop.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <iterator>
#include <utility>

#include "sys/thread/clock.h"

namespace sluice::sys::testing {
namespace {

constexpr uint16_t kLost = Loop::kReadable | Loop::kWritable | Loop::kReadHangUp | Loop::kHangUp | Loop::kError;
constexpr size_t kRemembered = 64;  // tokens for stale events

}  // namespace

bool FaultyLoop::Chance(int of_a_thousand) {
  if (static_cast<int>(random_() % 1000) >= of_a_thousand) return false;
  ++faults_;
  return true;
}

int64_t FaultyLoop::Watch(int fd, Token token, Interest interest) {
  if (Chance(chances_.refused)) return -ENOMEM;
  const int64_t watch = loop_->Watch(fd, token, interest);
  if (watch < 0) return watch;
  assert(by_token_.count(token) == 0);
  live_[static_cast<WatchId>(watch)] = {token, interest};
  by_token_[token] = static_cast<WatchId>(watch);
  return watch;
}

void FaultyLoop::Release(WatchId watch) {
  assert(live_.count(watch) == 1 && !live_[watch].releasing);
  live_[watch].releasing = true;
  held_.erase(std::remove_if(held_.begin(), held_.end(), [watch](const Held& held) { return held.watch == watch; }),
              held_.end());
  loop_->Release(watch);
}

std::map<Loop::WatchId, FaultyLoop::Live>::iterator FaultyLoop::AnyLive() {
  if (live_.empty()) return live_.end();
  auto found = std::next(live_.begin(), random_() % live_.size());
  return found->second.releasing || found->second.lost ? live_.end() : found;
}

// One of the real loop's events, perhaps changed.
void FaultyLoop::Take(const Event& event) {
  const WatchId watch = by_token_.at(event.token);
  const Live& live = live_[watch];
  if ((event.ready & kReleased) != 0) return Hold(watch, event, Chance(chances_.slow_release) ? 1 : 0);
  if (live.releasing || live.lost) return;
  const int turns = Chance(chances_.late) ? 1 + static_cast<int>(random_() % 3) : 0;
  if (Chance(chances_.twice)) Hold(watch, event, static_cast<int>(random_() % 3));
  uint16_t first = event.ready;
  if (Chance(chances_.split)) first &= static_cast<uint16_t>(random_());
  const uint16_t rest = event.ready & static_cast<uint16_t>(~first);
  if (first != 0) Hold(watch, {event.token, first}, turns);
  if (rest != 0) Hold(watch, {event.token, rest}, static_cast<int>(random_() % 3));
}

// Events that no kernel reported.
void FaultyLoop::Invent() {
  if (Chance(chances_.for_nothing)) {
    if (const auto found = AnyLive(); found != live_.end()) {
      uint16_t bits = static_cast<uint16_t>(1 + random_() % 3) & (kReadable | kWritable);
      if (found->second.interest == Interest::kRead) bits = kReadable;
      if (found->second.interest == Interest::kWrite) bits = kWritable;
      Hold(found->first, {found->second.token, bits}, 0);
    }
  }
  if (Chance(chances_.lost)) {
    if (const auto found = AnyLive(); found != live_.end()) {
      found->second.lost = true;
      Hold(found->first, {found->second.token, kLost}, 0);
    }
  }
}

// Shuffles what is held and gives out what has waited long enough, up to a turn's worth.
void FaultyLoop::DeliverDue() {
  std::shuffle(held_.begin(), held_.end(), random_);
  std::vector<Held> later;
  for (Held& held : held_) {
    if (--held.turns >= 0 || events_.size() == static_cast<size_t>(kEventsPerTurn)) {
      later.push_back(held);
      continue;
    }
    events_.push_back(held.event);
    if ((held.event.ready & kReleased) != 0) {
      live_.erase(held.watch);
      by_token_.erase(held.event.token);
      released_.push_back(held.event.token);
      if (released_.size() > kRemembered) released_.erase(released_.begin());
    }
  }
  held_.swap(later);
  if (!released_.empty() && events_.size() < static_cast<size_t>(kEventsPerTurn) && Chance(chances_.stale)) {
    const Token token = released_[random_() % released_.size()];
    if (by_token_.count(token) == 0) {
      events_.insert(events_.begin(), {token, static_cast<uint16_t>(1 + random_() % 3)});
    }
  }
}

absl::Span<const Loop::Event> FaultyLoop::Turn(int64_t timeout_nanos) {
  events_.clear();
  if (Chance(chances_.early)) return {};
  // What is held back must come in some turn soon, so this one does not wait for the kernel.
  for (const Event& event : loop_->Turn(held_.empty() ? timeout_nanos : 0)) Take(event);
  Invent();
  DeliverDue();
  return absl::MakeConstSpan(events_);
}

}  // namespace sluice::sys::testing
