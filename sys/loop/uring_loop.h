#ifndef SLUICE_SYS_LOOP_URING_LOOP_H_
#define SLUICE_SYS_LOOP_URING_LOOP_H_

#include <poll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sys/base/errno_or.h"
#include "sys/base/unique_fd.h"
#include "sys/loop/loop.h"
#include "sys/loop/waker.h"
#include "sys/loop/watch_table.h"
#include "sys/ring/op_tag.h"
#include "sys/ring/uring.h"

namespace sluice::sys {

// Loop by io_uring(7): a multishot poll for each watch, armed once and then silent until something happens. See loop.h
// for the contract.
//
// A turn is one io_uring_enter(2), which submits the watches and releases since the last one, runs what the kernel has
// deferred for this thread, and waits. No call at all when nothing is to be submitted, nothing is deferred, and the
// turn is not to wait or has completions left over from the turn before.
//
//                       Watch()
//   kFree ------------> kUnarmed --POLL_ADD queued--> kArmed --Release()--> kReleasing --last completion--> kFree
//                          |  ^                         |                       ^           (kReleased)
//                          |  `---- the poll ended -----'                       |
//                          `---------------------- Release() -------------------'
//
// Urgent data: the ring reports the key of a wake-up, which has EPOLLPRI for any bytes. Taken at its word, the user
// could trust no short read and would call recv(2) once more for each event, 150-300 ns; so the doubtful events of a
// turn are asked about together with one poll(2), some 50 ns each.
//
// A poll ends unasked when the completion queue is full: its last completion waits in the kernel's overflow list, and
// arming it anew reports the state of that moment, so nothing is lost. It is armed only once that list is empty, and a
// turn arms no more polls than the queue has room for the first report of: armed at once, it would end at once, and
// thousands of watches would never come to rest.
//
// Threads: Create() anywhere; the thread of the first Turn() is the worker, see uring.h. Destroyed on the worker's
// thread it leaves no descriptor held; elsewhere, release all watches first.
class UringLoop final : public Loop {
 public:
  // `options.entries`: requests queued between two turns; more are submitted in between. uring.h halves it when memory
  // is short. The errno of io_uring_setup(2), or EMFILE.
  static ErrnoOr<std::unique_ptr<UringLoop>> Create(Uring::Options options);

  int64_t Watch(int fd, Token token, Interest interest) override;
  void Release(WatchId watch) override;
  absl::Span<const Event> Turn(int64_t timeout_nanos) override;
  void Wake() override { waker_.Wake(); }

  int watches() const override { return table_.used(); }
  const char* name() const override { return "io_uring"; }
  const Stats& stats() const override { return stats_; }

  // Arms every watch anew and asks after every release: the kernel has lost completions, nobody knows which (EBADR, no
  // memory for an overflow entry). Turn() calls it then; public for tests.
  void Recover();

  // For tests that fill its queues, or lose what is in them.
  Uring& ring() { return *ring_; }

 private:
  explicit UringLoop(std::unique_ptr<Uring> ring) : ring_(std::move(ring)), arms_left_(MostArms()) {}

  void Arm(WatchId id);
  unsigned MostArms() const { return ring_->completions() / 2; }
  void Cancel(WatchId id);
  void ArmWaker();
  uint64_t WakeTag() const { return OpTag{OpKind::kWake, wake_generation_, 0}.Pack(); }
  void RetryPending();
  void DeliverReleased();
  bool Take(const Uring::Completion& done);
  void TakeWatch(const Uring::Completion& done, WatchId id);
  void TakeCancel(const Uring::Completion& done, OpTag tag);
  void CheckPriority();
  void Put(Token token, uint16_t ready) { events_[count_++] = {token, ready}; }

  // Before ring_: the ring is destroyed first, while the descriptor that it polls is still open.
  Waker waker_;
  WatchTable table_;
  std::unique_ptr<Uring> ring_;
  unsigned arms_left_;  // in this turn
  bool waker_armed_ = false;
  bool recover_ = false;
  uint32_t wake_generation_ = 0;
  int count_ = 0;  // events of this turn
  std::array<Event, kEventsPerTurn> events_;
  // Events of this turn whose kPriority is only a wake-up's key, and their descriptors.
  int doubtful_ = 0;
  std::array<uint16_t, kEventsPerTurn> doubtful_event_;
  std::array<pollfd, kEventsPerTurn> doubtful_fd_;
  std::vector<uint64_t> pending_;  // OpTags of requests that found no room: tried again each turn
  std::vector<WatchId> released_;  // kReleased is due, no completion will come for it; from next_released_ on
  size_t next_released_ = 0;
  Stats stats_;
};

}  // namespace sluice::sys

#endif  // SLUICE_SYS_LOOP_URING_LOOP_H_
