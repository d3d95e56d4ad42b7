#ifndef SLUICE_SYS_BLOCKING_WAIT_H_
#define SLUICE_SYS_BLOCKING_WAIT_H_

#include <atomic>
#include <cstdint>
#include <limits>

#include "sys/base/unique_fd.h"
#include "sys/thread/clock.h"

namespace sluice::sys {

constexpr MonotonicNanos kNoDeadline = std::numeric_limits<int64_t>::max();

// Ends the waits of many threads at once, for good: how a shutdown reaches threads that sit in poll(2). One object
// serves the whole process.
//
// Thread-safe.
class Cancellation {
 public:
  Cancellation();
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  // Every wait that is under way, or begins later, ends with ECANCELED. Async-signal-safe.
  void Cancel();
  // Readable once cancelled; -1 when the descriptor could not be had, in which case waits notice within a second.
  int fd() const { return event_.get(); }
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }

 private:
  UniqueFd event_;
  std::atomic<bool> cancelled_{false};
};

enum class Direction : uint8_t { kRead, kWrite };

// Waits until `fd` can be read or written, or has an error or an end to tell: 0. Else ETIMEDOUT (of Clock::System(), at
// once when it has passed already), ECANCELED, or the errno of poll(2). `cancellation` may be null.
//
// Handshake thread only (may block).
int WaitUntilReady(int fd, Direction direction, MonotonicNanos deadline, const Cancellation* cancellation);

}  // namespace sluice::sys

#endif  // SLUICE_SYS_BLOCKING_WAIT_H_
