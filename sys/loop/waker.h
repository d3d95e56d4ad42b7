#ifndef SLUICE_SYS_LOOP_WAKER_H_
#define SLUICE_SYS_LOOP_WAKER_H_

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "sys/base/unique_fd.h"

namespace sluice::sys {

// Lets other threads end a loop's wait: an eventfd that the loop watches edge-triggered, and a flag that keeps calls
// between two turns down to one write.
//
// The eventfd is never read. Each write is an edge of its own whatever the counter says, so a read would buy nothing;
// the counter takes 2^64 - 2 writes.
class Waker {
 public:
  // Empty (fd() is -1) when descriptors are short; errno tells.
  Waker() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

  int fd() const { return fd_.get(); }

  // Thread-safe; async-signal-safe. What the caller did before is seen by the worker after its next Seen().
  void Wake() {
    if (pending_.exchange(true, std::memory_order_acq_rel)) return;
    const uint64_t one = 1;
    // Cannot fail while the descriptor is open: the counter does not come near its limit.
    [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &one, sizeof one);
  }

  // Worker only: the edge has arrived. From here on another Wake() writes again; the worker looks at its mailbox after
  // this, so whoever came before is noticed.
  void Seen() { pending_.exchange(false, std::memory_order_acq_rel); }

 private:
  UniqueFd fd_;
  std::atomic<bool> pending_{false};
};

}  // namespace sluice::sys

#endif  // SLUICE_SYS_LOOP_WAKER_H_
