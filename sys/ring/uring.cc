#include "sys/ring/uring.h"

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

#include "sys/thread/clock.h"

namespace sluice::sys {
namespace {

constexpr unsigned kPlainFlags = IORING_SETUP_R_DISABLED;

// From the most that is wanted down to what any kernel with io_uring has. TASKRUN_FLAG lets Enter() see without a call
// whether the kernel has something.
constexpr unsigned kFlagSets[] = {
    IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
    IORING_SETUP_R_DISABLED | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
    kPlainFlags,
};

int SetUp(io_uring* ring, const Uring::Options& options) {
  for (const unsigned flags : kFlagSets) {
    io_uring_params params{};
    params.flags = (options.plain ? kPlainFlags : flags) | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
    params.cq_entries = options.completions != 0 ? options.completions : options.entries * Uring::kCompletionsPerEntry;
    const int result = io_uring_queue_init_params(options.entries, ring, &params);
    if (result != -EINVAL) return result;
  }
  return -EINVAL;
}

}  // namespace

ErrnoOr<std::unique_ptr<Uring>> Uring::Create(Options options) {
  for (;; options.entries = std::max(options.entries / 2, kMinEntries)) {
    std::unique_ptr<Uring> uring(new Uring);
    const int result = SetUp(&uring->ring_, options);
    if (result == 0) return uring;
    uring->ring_.ring_fd = -1;
    if (result != -ENOMEM || options.entries <= kMinEntries) return Errno{-result};
  }
}

Uring::~Uring() {
  if (ring_.ring_fd < 0) return;
  if (enabled_ && owner_tid_ == ::gettid()) {
    // Closing a ring lets go of its requests in the background; here their descriptors are free when this returns.
    io_uring_sync_cancel_reg all{};
    all.flags = IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL;
    all.timeout.tv_sec = all.timeout.tv_nsec = -1;
    io_uring_register_sync_cancel(&ring_, &all);
    while (HasDeferredWork() && io_uring_get_events(&ring_) >= 0) {
      io_uring_cq_advance(&ring_, io_uring_cq_ready(&ring_));
    }
  } else {
    // The registered number belongs to the owner's thread; in this thread's table it may be somebody else's ring, which
    // io_uring_queue_exit would unregister.
    ring_.int_flags = 0;
    ring_.enter_ring_fd = ring_.ring_fd;
  }
  io_uring_queue_exit(&ring_);
}

int Uring::Enable() {
  const int result = io_uring_enable_rings(&ring_);
  if (result < 0) return result;
  enabled_ = true;
  owner_tid_ = ::gettid();
  // Saves the look-up of the descriptor on each call. Without it (16 per thread) the descriptor's own number is used.
  io_uring_register_ring_fd(&ring_);
  return 0;
}

io_uring_sqe* Uring::NextEntry() {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  if (entry != nullptr) return entry;
  if (!enabled_ && Enable() < 0) return nullptr;
  io_uring_submit(&ring_);  // what it returns shows in whether there is room now
  return io_uring_get_sqe(&ring_);
}

bool Uring::PollMultishot(int fd, uint32_t poll_mask, uint64_t tag) {
  io_uring_sqe* entry = NextEntry();
  if (entry == nullptr) return false;
  io_uring_prep_poll_multishot(entry, fd, poll_mask);
  io_uring_sqe_set_data64(entry, tag);
  return true;
}

bool Uring::Cancel(uint64_t target, uint64_t tag) {
  io_uring_sqe* entry = NextEntry();
  if (entry == nullptr) return false;
  // Not POLL_REMOVE: that one gives up with EALREADY when the poll has just been woken, and leaves it armed.
  io_uring_prep_cancel64(entry, target, 0);
  entry->flags |= IOSQE_CQE_SKIP_SUCCESS;
  io_uring_sqe_set_data64(entry, tag);
  return true;
}

bool Uring::HasDeferredWork() const {
  return (__atomic_load_n(ring_.sq.kflags, __ATOMIC_ACQUIRE) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
}

bool Uring::Overflowed() const {
  return (__atomic_load_n(ring_.sq.kflags, __ATOMIC_ACQUIRE) & IORING_SQ_CQ_OVERFLOW) != 0;
}

int Uring::Enter(int64_t timeout_nanos) {
  if (!enabled_) {
    const int result = Enable();
    if (result < 0) return result;
  }
  assert(owner_tid_ == ::gettid());
  int result;
  if (timeout_nanos == 0 || HasCompletions()) {
    const bool says = (ring_.flags & IORING_SETUP_TASKRUN_FLAG) != 0;
    if (says && io_uring_sq_ready(&ring_) == 0 && !HasDeferredWork()) return 0;
    result = io_uring_submit_and_get_events(&ring_);
  } else {
    __kernel_timespec timeout{timeout_nanos / kNanosPerSecond, timeout_nanos % kNanosPerSecond};
    io_uring_cqe* unused;
    result = io_uring_submit_and_wait_timeout(&ring_, &unused, 1, timeout_nanos < 0 ? nullptr : &timeout, nullptr);
  }
  return result < 0 && result != -ETIME ? result : 0;
}

}  // namespace sluice::sys
