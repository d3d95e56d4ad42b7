#include "sys/blocking/wait.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

namespace sluice::sys {

Cancellation::Cancellation() : event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

void Cancellation::Cancel() {
  cancelled_.store(true, std::memory_order_release);
  // Never read again, so it stays readable for everybody.
  const uint64_t one = 1;
  if (event_.valid()) (void)!write(event_.get(), &one, sizeof one);
}

int WaitUntilReady(int fd, Direction direction, MonotonicNanos deadline, const Cancellation* cancellation) {
  pollfd waits[2] = {{fd, static_cast<short>(direction == Direction::kRead ? POLLIN : POLLOUT), 0},
                     {cancellation == nullptr ? -1 : cancellation->fd(), POLLIN, 0}};  // poll passes over -1
  while (true) {
    if (cancellation != nullptr && cancellation->cancelled()) return ECANCELED;
    const int64_t left = deadline == kNoDeadline ? kNoDeadline : deadline - Clock::System().Now();
    if (left <= 0) return ETIMEDOUT;
    const bool blind = cancellation != nullptr && cancellation->fd() < 0;
    const int64_t nanos = std::min(left, blind ? kNanosPerSecond : 3600 * kNanosPerSecond);
    const timespec timeout = {nanos / kNanosPerSecond, nanos % kNanosPerSecond};
    const int ready = ppoll(waits, 2, &timeout, nullptr);
    if (ready < 0 && errno != EINTR) return errno;
    if (ready <= 0) continue;
    if (waits[1].revents != 0) return ECANCELED;
    if ((waits[0].revents & POLLNVAL) != 0) return EBADF;
    return 0;
  }
}

}  // namespace sluice::sys
