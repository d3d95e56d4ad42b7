#ifndef SLUICE_SYS_LOOP_LOOP_H_
#define SLUICE_SYS_LOOP_LOOP_H_

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "sys/thread/clock.h"

namespace sluice::sys {

// Edge-triggered readiness, a wait with a timeout, and a wake-up from other threads. Two implementations keep one
// contract, uring_loop.h and epoll_loop.h, and one test (loop_conformance_test.cc) holds both to it; the relay engine
// above does not know which it runs on. No method is missing from either.
//
//   std::unique_ptr<Loop> loop = ...;
//   WatchId watch = *loop->Watch(fd, token, Interest::kBoth);
//   for (;;) {
//     for (const Loop::Event& event : loop->Turn(timeout)) ...event.token, event.ready...
//   }
//
// What "edge-triggered" means here, and the conformance test holds both to:
//  * Watch() reports the state that it finds: a descriptor that is readable already gives an event in the next Turn().
//  * After that an event comes whenever something new happens: bytes arrive, space appears, the other side shuts down
//    or resets. Bytes that are already there are not reported again, so the user remembers readiness until EAGAIN.
//  * An event says what is new. It may say more (the whole state of the descriptor), or less than the whole state: the
//    user adds the bits to what it remembers. It may come without anything new: the user tries, gets EAGAIN, goes on.
//  * kReadHangUp comes when the other side has shut down its sending (POLLRDHUP), kHangUp when both directions are
//    gone, kError when an error is pending: these three whatever the interest.
//  * kPriority comes with urgent data, and with each event until that is read; never for ordinary bytes. A recv(2)
//  stops
//    before the urgent byte, so after kPriority a short read does not mean that nothing is left.
//  * Nothing is lost: when the kernel drops a watch (a completion queue that overflowed), the loop arms it anew, which
//    reports the current state.
//
// Release() is not at once: a ring may still hold the descriptor. The last event of a watch is kReleased, after which
// nothing more comes and, only then, the descriptor may be closed or handed to another thread. This order matters:
// while a ring holds a descriptor, close() sends no FIN, and its number could be given away.
//
// Ownership: the loop borrows descriptors; they must stay open from Watch() until kReleased, and have one watch at most
// at a time in one loop.
// Errors: Watch() gives -errno: -EBADF; -EPERM for what is always ready (a regular file, a directory); -ENOMEM and
// -ENOSPC mean "shed this connection". A ring learns of a lack of memory later, and then reports all bits but kPriority
// once and nothing more until Release(): kError with no error pending on the socket means the same, shed it.
// Threads: worker only, but for Wake(). Made before the worker's thread starts, by whoever.
// Cost: 24 bytes of user memory a watch, and in the kernel about 210 bytes with epoll, 260 with the ring.
class Loop {
 public:
  using Token = uint64_t;  // the user's, returned with each event
  using WatchId = uint32_t;

  enum class Interest : uint8_t { kRead, kWrite, kBoth };

  // Bits of Event::ready.
  static constexpr uint16_t kReadable = 1;
  static constexpr uint16_t kWritable = 2;
  static constexpr uint16_t kReadHangUp = 4;
  static constexpr uint16_t kHangUp = 8;
  static constexpr uint16_t kError = 16;
  static constexpr uint16_t kPriority = 32;
  static constexpr uint16_t kReleased = 64;

  struct Event {
    Token token;
    uint16_t ready;  // never 0; kReleased comes alone
  };

  struct Stats {
    int64_t turns = 0;
    int64_t events = 0;
    int64_t stale_events = 0;  // for a watch that is no longer there: dropped
    int64_t rearmed = 0;       // watches that the kernel had dropped
    int64_t wakes = 0;         // wake-ups by other threads that were seen
  };

  // The most events that one Turn() returns: bounds the time until timers and the mailbox are looked at again.
  static constexpr int kEventsPerTurn = 256;

  virtual ~Loop() = default;

  // Starts watching `fd` (O_NONBLOCK, open until kReleased). The watch's id, or -errno.
  virtual int64_t Watch(int fd, Token token, Interest interest) = 0;

  // Stops the watch; once for each. Events already collected by the current Turn() may still be in the user's hands; no
  // later Turn() brings any for it but the one with kReleased, which comes within the next two turns that are not full
  // of other events, and without waiting for anything else.
  virtual void Release(WatchId watch) = 0;

  // The same for a descriptor that is closed when kReleased comes, before the next Turn(), and has no duplicate:
  // closing takes it out of an epoll set by itself, which saves a call.
  virtual void ReleaseToClose(WatchId watch) { Release(watch); }

  // Waits until there is an event, a Wake(), or `timeout_nanos` has passed (0: does not wait; negative: no limit), and
  // returns what there is. The span is valid until the next call. Resolution is that of the kernel's high-resolution
  // timers: a wait of 2 ms takes 2-3 ms, and less only when something happened. That something may be no event: a
  // signal (EINTR), a Wake(), or a stale completion return an empty span.
  virtual absl::Span<const Event> Turn(int64_t timeout_nanos) = 0;

  // Makes the current or next Turn() return. Thread-safe; async-signal-safe.
  virtual void Wake() = 0;

  // Watches that are not yet released.
  virtual int watches() const = 0;
  virtual const char* name() const = 0;  // "io_uring" or "epoll"
  virtual const Stats& stats() const = 0;
};

}  // namespace sluice::sys

#endif  // SLUICE_SYS_LOOP_LOOP_H_
