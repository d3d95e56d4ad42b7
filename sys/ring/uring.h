#ifndef SLUICE_SYS_RING_URING_H_
#define SLUICE_SYS_RING_URING_H_

#include <liburing.h>

#include <cstdint>
#include <memory>

#include "sys/base/errno_or.h"

namespace sluice::sys {

// An io_uring: a queue of requests, a queue of completions, and one system call between them. The only user of
// liburing; what the loop needs of it and no more: multishot polls, cancelling them, one wait a turn.
//
//   std::unique_ptr<Uring> ring = *Uring::Create({.entries = 512});
//   ring->PollMultishot(fd, POLLIN, tag);
//   ring->Enter(-1);  // submits, waits
//   ring->Reap([](const Uring::Completion& done) { ...; return true; });
//
// Made disabled (IORING_SETUP_R_DISABLED) so that it can be created, and refused, on the main thread before a port is
// open; the first Enter() or the first full queue enables it, and the thread that did is its owner from then on
// (IORING_SETUP_SINGLE_ISSUER). IORING_SETUP_DEFER_TASKRUN: completions are posted inside Enter() only, none while the
// worker works on others.
//
// Memory: entries * (64 + 4 + 4 * 16) bytes in the kernel, 68 KB for 512, counted against RLIMIT_MEMLOCK of the user
// without CAP_IPC_LOCK. Hence the halving in Create().
//
// Threads: Create() anywhere; then owner only. Destroy it on the owner's thread, where that cancels what is pending
// before it returns; elsewhere the kernel lets go of pending polls' descriptors some time later.
// Kernel: 6.1 for all that is asked for; older ones give a ring with fewer flags.
class Uring {
 public:
  static constexpr unsigned kMinEntries = 64;
  // Completions per request entry. A poll that finds the queue full ends and has to be armed again, so this is what
  // thousands of descriptors that become ready in one instant fit into.
  static constexpr unsigned kCompletionsPerEntry = 4;

  struct Options {
    unsigned entries = 512;
    // Size of the completion queue; 0: kCompletionsPerEntry for each entry.
    unsigned completions = 0;
    // As on a kernel that knows no more flags than R_DISABLED: completions come at any moment. For tests.
    bool plain = false;
  };

  struct Completion {
    uint64_t tag;
    int32_t result;  // poll bits, or -errno
    bool more;       // the request goes on; false: its last completion
  };

  // A ring; `entries` is halved down to kMinEntries while the kernel answers ENOMEM. The errno of io_uring_setup(2)
  // otherwise: EPERM, EACCES, ENOSYS (a seccomp filter says which), ENOMEM, EMFILE.
  static ErrnoOr<std::unique_ptr<Uring>> Create(Options options);
  ~Uring();
  Uring(const Uring&) = delete;
  Uring& operator=(const Uring&) = delete;

  // Queue a request; it reaches the kernel with the next Enter(), or at once when the queue is full. False when it is
  // full and the kernel takes nothing now: try again after the next Enter() and Reap().
  //
  // Edge-triggered multishot poll: reports the present state, then each change.
  bool PollMultishot(int fd, uint32_t poll_mask, uint64_t tag);
  // Ends the request tagged `target`, whose last completion then carries -ECANCELED (or is what it had already posted).
  // The cancellation itself completes only when it fails, with `tag`.
  bool Cancel(uint64_t target, uint64_t tag);

  // Submits what is queued and waits until there is a completion, or `timeout_nanos` has passed (0: does not wait;
  // negative: no limit). Does not wait, and does not enter the kernel where it can know that there is nothing to do,
  // while completions are there already. 0 or -errno: -EINTR; -EBADR: completions were lost for want of memory.
  int Enter(int64_t timeout_nanos);

  bool HasCompletions() const { return io_uring_cq_ready(&ring_) != 0; }
  // The kernel says that it has completions for this thread which another Enter() would bring. False also where it does
  // not say (a ring without IORING_SETUP_TASKRUN_FLAG).
  bool HasDeferredWork() const;
  // Completions wait in the kernel for room in the queue. Until an Enter() has brought them all, whatever completes
  // joins them behind, and every multishot poll that does so ends.
  bool Overflowed() const;

  // Calls visit(Completion) -> bool for each completion that is there, in order, until it says false.
  template <typename Visit>
  void Reap(Visit visit) {
    unsigned head;
    unsigned seen = 0;
    io_uring_cqe* cqe;
    io_uring_for_each_cqe(&ring_, head, cqe) {
      ++seen;
      if (!visit(Completion{cqe->user_data, cqe->res, (cqe->flags & IORING_CQE_F_MORE) != 0})) break;
    }
    io_uring_cq_advance(&ring_, seen);
  }

  unsigned entries() const { return ring_.sq.ring_entries; }
  unsigned completions() const { return ring_.cq.ring_entries; }
  unsigned flags() const { return ring_.flags; }

 private:
  Uring() = default;
  io_uring_sqe* NextEntry();
  int Enable();

  io_uring ring_{};
  bool enabled_ = false;
  int owner_tid_ = 0;
};

}  // namespace sluice::sys

#endif  // SLUICE_SYS_RING_URING_H_
