#ifndef SLUICE_SYS_LOOP_POLL_BITS_H_
#define SLUICE_SYS_LOOP_POLL_BITS_H_

#include <sys/epoll.h>

#include <cstdint>

#include "sys/loop/loop.h"

namespace sluice::sys {

// Between the kernel's poll bits and those of Loop::Event. EPOLLx and POLLx have the same values, so that both loops
// share this.

// What to ask the kernel for. EPOLLRDHUP always: the ring reports it unasked, and the two loops are to be alike.
// EPOLLERR and EPOLLHUP need no asking.
constexpr uint32_t PollMask(Loop::Interest interest) {
  constexpr uint32_t kIn = EPOLLIN | EPOLLPRI | EPOLLRDHUP;
  switch (interest) {
    case Loop::Interest::kRead:
      return kIn;
    case Loop::Interest::kWrite:
      return EPOLLOUT | EPOLLRDHUP;
    case Loop::Interest::kBoth:
      return kIn | EPOLLOUT;
  }
  return 0;
}

// What the ring asks for besides. The key of a socket's wake-up for bytes is EPOLLIN | EPOLLPRI | EPOLLRDNORM |
// EPOLLRDBAND whatever has come, and a ring reports the key; no state of a TCP, UDP or unix socket has EPOLLRDBAND. So
// it tells a key, whose EPOLLPRI means nothing, from a state.
constexpr uint32_t kKeyMark = EPOLLRDBAND;
constexpr bool IsKeyWithPriority(uint32_t mask) { return (mask & (kKeyMark | EPOLLPRI)) == (kKeyMark | EPOLLPRI); }

// Shifts, not branches: this runs for each event.
constexpr uint16_t ReadyBits(uint32_t mask) {
  return static_cast<uint16_t>((mask & EPOLLIN) | (mask & EPOLLOUT) >> 1 | (mask & EPOLLRDHUP) >> 11 |
                               (mask & EPOLLHUP) >> 1 | (mask & EPOLLERR) << 1 | (mask & EPOLLPRI) << 4);
}

static_assert(ReadyBits(EPOLLIN) == Loop::kReadable);
static_assert(ReadyBits(EPOLLOUT) == Loop::kWritable);
static_assert(ReadyBits(EPOLLRDHUP) == Loop::kReadHangUp);
static_assert(ReadyBits(EPOLLHUP) == Loop::kHangUp);
static_assert(ReadyBits(EPOLLERR) == Loop::kError);
static_assert(ReadyBits(EPOLLPRI) == Loop::kPriority);

}  // namespace sluice::sys

#endif  // SLUICE_SYS_LOOP_POLL_BITS_H_
