#include "sys/loop/epoll_loop.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <ctime>
#include <limits>
#include <utility>

#include "sys/loop/poll_bits.h"
#include "sys/ring/op_tag.h"

namespace sluice::sys {
namespace {

using State = WatchTable::State;

// Rounded up: a wait is never shorter than asked.
int ToMillis(int64_t nanos) {
  if (nanos < 0) return -1;
  const int64_t millis = nanos / kNanosPerMilli + (nanos % kNanosPerMilli != 0);
  return static_cast<int>(std::min<int64_t>(millis, std::numeric_limits<int>::max()));
}

}  // namespace

ErrnoOr<std::unique_ptr<EpollLoop>> EpollLoop::Create() {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.valid()) return Errno{errno};
  std::unique_ptr<EpollLoop> loop(new EpollLoop(std::move(epoll)));
  if (loop->waker_.fd() < 0) return Errno{errno};
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.u64 = OpTag{OpKind::kWake, 0, 0}.Pack();
  if (::epoll_ctl(loop->epoll_.get(), EPOLL_CTL_ADD, loop->waker_.fd(), &event) != 0) return Errno{errno};
  return loop;
}

int64_t EpollLoop::Watch(int fd, Token token, Interest interest) {
  const uint32_t slot = table_.Take(fd, token, interest);
  if (slot == WatchTable::kNone) return -ENOMEM;
  epoll_event event{};
  event.events = PollMask(interest) | EPOLLET;
  event.data.u64 = table_.Tag(slot);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    const int error = errno;
    table_.Free(slot);
    return -error;
  }
  table_[slot].state = State::kArmed;
  return slot;
}

void EpollLoop::Release(WatchId id) {
  epoll_event ignored{};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, table_[id].fd, &ignored);
  ReleaseToClose(id);
}

// The descriptor stays in the set until it is closed: what the set says of it meanwhile is stale.
void EpollLoop::ReleaseToClose(WatchId id) {
  WatchTable::Watch& watch = table_[id];
  assert(watch.state == State::kArmed);
  watch.state = State::kReleasing;
  released_.push_back(id);
}

int EpollLoop::Wait(int room, int64_t timeout_nanos) {
  if (has_pwait2_) {
    const timespec timeout{timeout_nanos / kNanosPerSecond, timeout_nanos % kNanosPerSecond};
    const int got = ::epoll_pwait2(epoll_.get(), raw_.data(), room, timeout_nanos < 0 ? nullptr : &timeout, nullptr);
    if (got >= 0 || errno == EINTR) return got;
    has_pwait2_ = false;  // ENOSYS, or EPERM by a filter that was written before the call existed
  }
  return ::epoll_wait(epoll_.get(), raw_.data(), room, ToMillis(timeout_nanos));
}

absl::Span<const Loop::Event> EpollLoop::Turn(int64_t timeout_nanos) {
  ++stats_.turns;
  int count = 0;
  while (next_released_ < released_.size() && count < kEventsPerTurn) {
    const WatchId id = released_[next_released_++];
    events_[count++] = {table_[id].token, kReleased};
    table_.Free(id);
  }
  if (next_released_ == released_.size()) {
    released_.clear();
    next_released_ = 0;
  }
  const int room = kEventsPerTurn - count;
  const int got = room > 0 ? Wait(room, count > 0 ? 0 : timeout_nanos) : 0;
  for (int i = 0; i < got; ++i) {
    const OpTag tag = OpTag::Unpack(raw_[i].data.u64);
    if (tag.kind == OpKind::kWake) {
      waker_.Seen();
      ++stats_.wakes;
      continue;
    }
    // Stale after ReleaseToClose(), or where a duplicate (a child between fork and exec) keeps the entry of a closed
    // descriptor.
    const WatchTable::Watch* watch = table_.Find(tag);
    if (watch == nullptr || watch->state != State::kArmed) {
      ++stats_.stale_events;
      continue;
    }
    events_[count++] = {watch->token, ReadyBits(raw_[i].events)};
  }
  stats_.events += count;
  return absl::MakeConstSpan(events_.data(), count);
}

}  // namespace sluice::sys
