#ifndef SLUICE_SYS_LOOP_EPOLL_LOOP_H_
#define SLUICE_SYS_LOOP_EPOLL_LOOP_H_

#include <sys/epoll.h>

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

namespace sluice::sys {

// Loop by epoll(7), EPOLLET: needs nothing that a container runtime refuses. See loop.h for the contract.
//
// A turn is one epoll_pwait2(2) (nanoseconds; kernel 5.11), or epoll_wait(2) with milliseconds rounded up where a
// seccomp filter does not know that call. A release is an EPOLL_CTL_DEL at once; its kReleased follows in the next
// turn, for the sake of a user who need not know which loop this is.
//
// Threads: Create() anywhere; the rest as loop.h says.
class EpollLoop final : public Loop {
 public:
  // EMFILE, ENFILE: descriptors are short (two are needed). ENOMEM.
  static ErrnoOr<std::unique_ptr<EpollLoop>> Create();

  int64_t Watch(int fd, Token token, Interest interest) override;
  void Release(WatchId watch) override;
  void ReleaseToClose(WatchId watch) override;
  absl::Span<const Event> Turn(int64_t timeout_nanos) override;
  void Wake() override { waker_.Wake(); }

  int watches() const override { return table_.used(); }
  const char* name() const override { return "epoll"; }
  const Stats& stats() const override { return stats_; }

 private:
  explicit EpollLoop(UniqueFd epoll) : epoll_(std::move(epoll)) {}

  int Wait(int room, int64_t timeout_nanos);

  UniqueFd epoll_;
  Waker waker_;
  bool has_pwait2_ = true;
  WatchTable table_;
  std::vector<WatchId> released_;  // kReleased is due from next_released_ on
  size_t next_released_ = 0;
  std::array<epoll_event, kEventsPerTurn> raw_;
  std::array<Event, kEventsPerTurn> events_;
  Stats stats_;
};

}  // namespace sluice::sys

#endif  // SLUICE_SYS_LOOP_EPOLL_LOOP_H_
