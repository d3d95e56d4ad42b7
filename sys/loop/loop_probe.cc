#include "sys/loop/loop_probe.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sys/base/errno_or.h"
#include "sys/base/errno_status.h"
#include "sys/base/unique_fd.h"
#include "sys/loop/epoll_loop.h"
#include "sys/loop/uring_loop.h"
#include "sys/thread/clock.h"

namespace sluice::sys {
namespace {

// "6.18" of "6.18.44-cloud".
std::string KernelVersion() {
  utsname names{};
  if (::uname(&names) != 0) return "unknown";
  const absl::string_view release = names.release;
  const size_t dot = release.find('.');
  if (dot == absl::string_view::npos) return std::string(release);
  return std::string(release.substr(0, release.find_first_not_of("0123456789", dot + 1)));
}

// kernel.io_uring_disabled: 0 open to all, 1 to CAP_SYS_ADMIN and the sysctl's group, 2 to nobody. -1: no such switch
// (before 6.6), or /proc is not there.
int DisabledSwitch() {
  const UniqueFd file(::open("/proc/sys/kernel/io_uring_disabled", O_RDONLY | O_CLOEXEC));
  char digit = 0;
  if (!file.valid() || ::read(file.get(), &digit, 1) != 1 || digit < '0' || digit > '9') return -1;
  return digit - '0';
}

std::string SetUpReason(int error) {
  const std::string call = absl::StrCat("io_uring_setup: ", ErrnoName(error));
  switch (error) {
    case EPERM:
      if (const int value = DisabledSwitch(); value > 0) {
        return absl::StrCat(call, ", refused by sysctl kernel.io_uring_disabled = ", value);
      }
      return absl::StrCat(call, ", refused by a seccomp filter");
    case EACCES:
      return absl::StrCat(call, ", refused by a seccomp filter");
    case ENOSYS:
      return absl::StrCat(call, ", not in kernel ", KernelVersion(), " or hidden by a seccomp filter");
    case ENOMEM: {
      rlimit limit{};
      ::getrlimit(RLIMIT_MEMLOCK, &limit);
      if (limit.rlim_cur == RLIM_INFINITY) return absl::StrCat(call, ", the kernel is short of memory");
      return absl::StrCat(call, ", no ring fits into what is left of RLIMIT_MEMLOCK (", limit.rlim_cur / 1024, " KB)");
    }
    default:
      return absl::StrCat(call, ", ", ErrnoText(error));
  }
}

// Turns until there is an event: a turn may come back with nothing (a signal).
Loop::Event NextEvent(Loop& loop) {
  const MonotonicNanos deadline = Clock::System().Now() + kNanosPerSecond;
  for (;;) {
    const MonotonicNanos left = deadline - Clock::System().Now();
    const absl::Span<const Loop::Event> events = loop.Turn(left > 0 ? left : 0);
    if (!events.empty()) return events[0];
    if (left <= 0) return {0, 0};
  }
}

// The life of a watch: silent, readable twice (that is what "multishot" is about), released. What went wrong, or "".
std::string TryMultishotPoll(Loop& loop) {
  int ends[2];
  if (::pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0) return absl::StrCat("pipe: ", ErrnoName(errno));
  const UniqueFd reading(ends[0]);
  const UniqueFd writing(ends[1]);
  constexpr Loop::Token kToken = 1;
  const int64_t watch = loop.Watch(reading.get(), kToken, Loop::Interest::kRead);
  if (watch < 0) return absl::StrCat("watching a pipe: ", ErrnoName(static_cast<int>(-watch)));
  if (!loop.Turn(0).empty()) return "an empty pipe was reported";
  for (int round = 0; round < 2; ++round) {
    if (::write(writing.get(), "x", 1) != 1) return absl::StrCat("write to a pipe: ", ErrnoName(errno));
    const Loop::Event event = NextEvent(loop);
    if (event.token != kToken || (event.ready & Loop::kReadable) == 0) return "multishot poll does not report a pipe";
  }
  loop.Release(static_cast<Loop::WatchId>(watch));
  if (NextEvent(loop).ready != Loop::kReleased) return "a poll cannot be cancelled";
  if (loop.stats().rearmed != 0) return "polls end after one report, multishot is not known";
  return "";
}

// Why io_uring is not to be had, or "".
std::string WhyNotUring() {
  ErrnoOr<std::unique_ptr<UringLoop>> loop = UringLoop::Create({.entries = kRingEntries});
  if (!loop.ok()) return SetUpReason(loop.error().code);
  const std::string trouble = TryMultishotPoll(**loop);
  return trouble.empty() ? "" : absl::StrCat("io_uring of kernel ", KernelVersion(), ": ", trouble);
}

absl::StatusOr<std::unique_ptr<Loop>> MakeEpoll() {
  ErrnoOr<std::unique_ptr<EpollLoop>> loop = EpollLoop::Create();
  if (!loop.ok()) return ErrnoStatus(loop.error(), "epoll_create1");
  return *std::move(loop);
}

}  // namespace

absl::StatusOr<LoopChoice> ProbeLoop(Backend wanted) {
  if (wanted == Backend::kEpoll) return LoopChoice{Backend::kEpoll, "as asked for", false};
  const std::string trouble = WhyNotUring();
  if (trouble.empty()) {
    return LoopChoice{Backend::kUring, absl::StrCat("kernel ", KernelVersion(), ", multishot poll works"),
                      wanted == Backend::kAuto};
  }
  if (wanted == Backend::kAuto) return LoopChoice{Backend::kEpoll, trouble, false};
  return absl::UnavailableError(trouble);
}

absl::StatusOr<std::unique_ptr<Loop>> CreateLoop(const LoopChoice& choice, unsigned entries, std::string* fell_back) {
  fell_back->clear();
  if (choice.backend == Backend::kEpoll) return MakeEpoll();
  ErrnoOr<std::unique_ptr<UringLoop>> ring = UringLoop::Create({.entries = entries});
  if (ring.ok()) return *std::move(ring);
  const std::string reason = SetUpReason(ring.error().code);
  if (!choice.may_fall_back) return absl::UnavailableError(reason);
  *fell_back = reason;
  return MakeEpoll();
}

}  // namespace sluice::sys
