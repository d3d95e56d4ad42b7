#include "sys/loop/uring_loop.h"

#include <cassert>
#include <cerrno>

#include "sys/loop/poll_bits.h"
#include "sys/loop/watchable.h"
#include "sys/ring/op_tag.h"

namespace sluice::sys {
namespace {

using State = WatchTable::State;

// Kernels since 6.13 run 20 deferred completions a call, so a full turn takes several calls; each is some 100 ns.
constexpr int kMostCalls = Loop::kEventsPerTurn / 16;

constexpr uint32_t RingMask(Loop::Interest interest) {
  const uint32_t mask = PollMask(interest);
  return (mask & EPOLLPRI) != 0 ? mask | kKeyMark : mask;
}

}  // namespace

ErrnoOr<std::unique_ptr<UringLoop>> UringLoop::Create(Uring::Options options) {
  ErrnoOr<std::unique_ptr<Uring>> ring = Uring::Create(options);
  if (!ring.ok()) return ring.error();
  std::unique_ptr<UringLoop> loop(new UringLoop(*std::move(ring)));
  if (loop->waker_.fd() < 0) return Errno{EMFILE};
  return loop;
}

int64_t UringLoop::Watch(int fd, Token token, Interest interest) {
  if (const int error = WatchableError(fd); error != 0) return error;
  const uint32_t slot = table_.Take(fd, token, interest);
  if (slot == WatchTable::kNone) return -ENOMEM;
  Arm(slot);
  return slot;
}

void UringLoop::Release(WatchId id) {
  WatchTable::Watch& watch = table_[id];
  assert(watch.state == State::kUnarmed || watch.state == State::kArmed);
  const bool armed = watch.state == State::kArmed;
  watch.state = State::kReleasing;
  if (armed) {
    Cancel(id);
  } else {
    released_.push_back(id);
  }
}

void UringLoop::Arm(WatchId id) {
  WatchTable::Watch& watch = table_[id];
  const uint64_t tag = table_.Tag(id);
  if (arms_left_ > 0 && !ring_->Overflowed() && ring_->PollMultishot(watch.fd, RingMask(watch.interest), tag)) {
    --arms_left_;
    watch.state = State::kArmed;
  } else {
    watch.state = State::kUnarmed;
    pending_.push_back(tag);
  }
}

void UringLoop::Cancel(WatchId id) {
  const uint64_t tag = table_.Tag(id, OpKind::kCancel);
  if (!ring_->Cancel(table_.Tag(id), tag)) pending_.push_back(tag);
}

void UringLoop::ArmWaker() { waker_armed_ = ring_->PollMultishot(waker_.fd(), EPOLLIN, WakeTag()); }

void UringLoop::RetryPending() {
  std::vector<uint64_t> tags;
  tags.swap(pending_);
  for (const uint64_t bits : tags) {
    const OpTag tag = OpTag::Unpack(bits);
    const WatchTable::Watch* watch = table_.Find(tag);
    if (watch == nullptr) continue;
    if (tag.kind == OpKind::kWatch && watch->state == State::kUnarmed) Arm(tag.slot);
    if (tag.kind == OpKind::kCancel && watch->state == State::kReleasing) Cancel(tag.slot);
  }
}

void UringLoop::DeliverReleased() {
  while (next_released_ < released_.size() && count_ < kEventsPerTurn) {
    const WatchId id = released_[next_released_++];
    Put(table_[id].token, kReleased);
    table_.Free(id);
  }
  if (next_released_ == released_.size()) {
    released_.clear();
    next_released_ = 0;
  }
}

absl::Span<const Loop::Event> UringLoop::Turn(int64_t timeout_nanos) {
  ++stats_.turns;
  count_ = 0;
  doubtful_ = 0;
  arms_left_ = MostArms();
  if (recover_) Recover();
  if (!waker_armed_) ArmWaker();
  if (!pending_.empty()) RetryPending();
  if (!released_.empty()) DeliverReleased();
  const bool wait = count_ == 0 && pending_.empty();
  if (ring_->Enter(wait ? timeout_nanos : 0) == -EBADR) Recover();
  for (int calls = 1; count_ < kEventsPerTurn; ++calls) {
    ring_->Reap([this](const Uring::Completion& done) { return Take(done); });
    if (calls == kMostCalls || !ring_->HasDeferredWork()) break;
    ring_->Enter(0);
  }
  if (doubtful_ > 0) CheckPriority();
  stats_.events += count_;
  return absl::MakeConstSpan(events_.data(), count_);
}

// False when the turn is full.
bool UringLoop::Take(const Uring::Completion& done) {
  const OpTag tag = OpTag::Unpack(done.tag);
  switch (tag.kind) {
    case OpKind::kWatch:
      if (table_.Find(tag) != nullptr) {
        TakeWatch(done, tag.slot);
      } else {
        ++stats_.stale_events;
      }
      break;
    case OpKind::kWake:
      if (tag.generation != (wake_generation_ & OpTag::kGenerationMask)) break;
      waker_.Seen();
      ++stats_.wakes;
      if (!done.more) ArmWaker();
      break;
    case OpKind::kCancel:
      TakeCancel(done, tag);
      break;
  }
  return count_ < kEventsPerTurn;
}

// A cancellation that did not work.
void UringLoop::TakeCancel(const Uring::Completion& done, OpTag tag) {
  const WatchTable::Watch* watch = table_.Find(tag);
  // The common case: the poll had ended by itself, and its last completion, which came before this one, freed the slot.
  if (watch == nullptr || watch->state != State::kReleasing) return;
  if (done.result == -ENOENT) {
    Put(watch->token, kReleased);  // its last completion was lost
    table_.Free(tag.slot);
  } else {
    Cancel(tag.slot);
  }
}

void UringLoop::Recover() {
  recover_ = true;  // until all of it is done: a queue that is full ends it early, the next turn begins anew
  const auto cancel = [this](uint64_t target) {
    return ring_->Cancel(target, OpTag{OpKind::kCancel, 0, WatchTable::kNone}.Pack());
  };
  for (uint32_t slot = 0; slot < table_.capacity(); ++slot) {
    WatchTable::Watch& watch = table_[slot];
    if (watch.state == State::kReleasing) {
      Cancel(slot);
    } else if (watch.state == State::kArmed) {
      if (!cancel(table_.Tag(slot))) return;
      table_.Renew(slot);  // what still comes of the old poll is stale
      ++stats_.rearmed;
      Arm(slot);
    }
  }
  if (waker_armed_ && !cancel(WakeTag())) return;
  ++wake_generation_;
  ArmWaker();
  recover_ = false;
}

void UringLoop::TakeWatch(const Uring::Completion& done, WatchId id) {
  WatchTable::Watch& watch = table_[id];
  if (watch.state == State::kReleasing) {
    if (done.more) {
      ++stats_.stale_events;
    } else {
      Put(watch.token, kReleased);
      table_.Free(id);
    }
    return;
  }
  if (done.result > 0) {
    if (IsKeyWithPriority(done.result)) {
      doubtful_event_[doubtful_] = static_cast<uint16_t>(count_);
      doubtful_fd_[doubtful_++] = {watch.fd, POLLPRI, 0};
    }
    Put(watch.token, ReadyBits(done.result));
  }
  if (done.more) return;
  if (done.result > 0 || done.result == -ECANCELED) {
    ++stats_.rearmed;
    Arm(id);
  } else {
    // The kernel cannot watch it, for want of memory. Both directions are over as far as this loop can tell.
    watch.state = State::kUnarmed;
    Put(watch.token, kError | kHangUp | kReadHangUp | kReadable | kWritable);
  }
}

// Urgent data that comes after this wakes the watch again and is asked about then.
void UringLoop::CheckPriority() {
  if (::poll(doubtful_fd_.data(), doubtful_, 0) < 0) return;  // short of memory: the doubt stays, which is safe
  for (int i = 0; i < doubtful_; ++i) {
    if ((doubtful_fd_[i].revents & POLLPRI) == 0) events_[doubtful_event_[i]].ready &= ~kPriority;
  }
}

}  // namespace sluice::sys
