#include "sys/loop/loop_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "sys/base/errno_or.h"
#include "sys/base/unique_fd.h"
#include "sys/loop/epoll_loop.h"
#include "sys/loop/loop.h"
#include "sys/loop/testing/confined_child.h"
#include "sys/ring/uring.h"
#include "sys/thread/clock.h"

namespace sluice::sys {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::InChild;
using testing::LimitLockedMemory;
using testing::RefuseSystemCall;
using ::testing::StartsWith;

// "epoll: reason" or "error: reason".
std::string Outcome(Backend wanted) {
  const absl::StatusOr<LoopChoice> choice = ProbeLoop(wanted);
  if (!choice.ok()) return absl::StrCat("error: ", std::string(choice.status().message()));
  return absl::StrCat(choice->backend == Backend::kUring ? "io_uring: " : "epoll: ", choice->reason);
}

bool HasUring() { return ProbeLoop(Backend::kUring).ok(); }

std::string OutcomeWhere(int refused_with, Backend wanted) {
  return InChild([=] {
    if (!RefuseSystemCall(SYS_io_uring_setup, refused_with)) return std::string("no filter");
    return Outcome(wanted);
  });
}

TEST(LoopProbeTest, EpollIsNotProbed) { EXPECT_EQ(Outcome(Backend::kEpoll), "epoll: as asked for"); }

TEST(LoopProbeTest, UringWhereItWorks) {
  if (!HasUring()) GTEST_SKIP() << "NOT TESTED: " << ProbeLoop(Backend::kUring).status();
  EXPECT_THAT(Outcome(Backend::kUring), StartsWith("io_uring: kernel "));
  EXPECT_THAT(Outcome(Backend::kAuto), HasSubstr(", multishot poll works"));
}

TEST(LoopProbeTest, LeavesNothingOpen) {
  const UniqueFd before(::eventfd(0, EFD_CLOEXEC));
  for (int i = 0; i < 5; ++i) Outcome(Backend::kAuto);
  const UniqueFd after(::eventfd(0, EFD_CLOEXEC));
  EXPECT_EQ(after.get(), before.get() + 1) << "the kernel gives the lowest number";
}

TEST(LoopProbeTest, AutoFallsBackWithTheReasonAndUringIsAnError) {
  const struct {
    int error;
    const char* reason;
  } kCases[] = {
      {EPERM, "io_uring_setup: EPERM, refused by "},  // seccomp, or the sysctl where that is set
      {EACCES, "io_uring_setup: EACCES, refused by a seccomp filter"},
      {ENOSYS, "io_uring_setup: ENOSYS, not in kernel "},
      {EIO, "io_uring_setup: EIO, Input/output error"},
  };
  for (const auto& c : kCases) {
    EXPECT_THAT(OutcomeWhere(c.error, Backend::kAuto), StartsWith(absl::StrCat("epoll: ", c.reason)));
    EXPECT_THAT(OutcomeWhere(c.error, Backend::kUring), StartsWith(absl::StrCat("error: ", c.reason)));
    EXPECT_EQ(OutcomeWhere(c.error, Backend::kEpoll), "epoll: as asked for");
  }
}

TEST(LoopProbeTest, RingThatCannotBeEnteredIsRefused) {
  // Filters that know io_uring_setup and not its siblings exist.
  for (const int number : {SYS_io_uring_enter, SYS_io_uring_register}) {
    const std::string outcome = InChild([=] {
      if (!RefuseSystemCall(number, EPERM)) return std::string("no filter");
      return Outcome(Backend::kAuto);
    });
    EXPECT_THAT(outcome, StartsWith("epoll: io_uring"));
  }
}

TEST(LoopProbeTest, LockedMemoryThatIsTooLittle) {
  if (!HasUring()) GTEST_SKIP() << "NOT TESTED: " << ProbeLoop(Backend::kUring).status();
  const std::string outcome = InChild([] {
    if (!LimitLockedMemory(4096)) return std::string("no limit");
    return Outcome(Backend::kAuto);
  });
  // Kernels before 5.12 and some later ones do not count rings.
  EXPECT_THAT(outcome, AnyOf("epoll: io_uring_setup: ENOMEM, no ring fits into what is left of RLIMIT_MEMLOCK (4 KB)",
                             StartsWith("io_uring: ")));
}

TEST(LoopProbeTest, TheWorkerWhoseRingCannotBeMadeRunsOnEpoll) {
  if (!HasUring()) GTEST_SKIP() << "NOT TESTED: " << ProbeLoop(Backend::kUring).status();
  for (const Backend wanted : {Backend::kAuto, Backend::kUring}) {
    const std::string outcome = InChild([wanted] {
      const absl::StatusOr<LoopChoice> choice = ProbeLoop(wanted);
      if (!choice.ok()) return std::string("no ring at all");
      if (!RefuseSystemCall(SYS_io_uring_setup, ENOMEM)) return std::string("no filter");
      std::string fell_back;
      const absl::StatusOr<std::unique_ptr<Loop>> loop = CreateLoop(*choice, kRingEntries, &fell_back);
      if (!loop.ok()) return absl::StrCat("error: ", std::string(loop.status().message()));
      return absl::StrCat((*loop)->name(), ": ", fell_back);
    });
    EXPECT_THAT(outcome, StartsWith(wanted == Backend::kAuto ? "epoll: io_uring_setup: ENOMEM"
                                                             : "error: io_uring_setup: ENOMEM"));
  }
}

TEST(LoopProbeTest, CreateLoopGivesWhatWasChosen) {
  for (const Backend wanted : {Backend::kAuto, Backend::kEpoll}) {
    const absl::StatusOr<LoopChoice> choice = ProbeLoop(wanted);
    ASSERT_TRUE(choice.ok());
    std::string fell_back = "from before";
    const absl::StatusOr<std::unique_ptr<Loop>> loop = CreateLoop(*choice, kRingEntries, &fell_back);
    ASSERT_TRUE(loop.ok());
    EXPECT_STREQ((*loop)->name(), choice->backend == Backend::kUring ? "io_uring" : "epoll");
    EXPECT_EQ(fell_back, "");
  }
}

TEST(LoopProbeTest, ManyRingsMeetTheLimitOneByOne) {
  if (!HasUring()) GTEST_SKIP() << "NOT TESTED: " << ProbeLoop(Backend::kUring).status();
  // 256 KB: some rings of full size, then smaller ones, then none; never a crash, and epoll for the rest.
  const std::string outcome = InChild([] {
    if (!LimitLockedMemory(256 * 1024)) return std::string("no limit");
    const LoopChoice choice{Backend::kUring, "", true};
    std::vector<std::unique_ptr<Loop>> loops;
    std::string fell_back;
    for (int i = 0; i < 64 && fell_back.empty(); ++i) {
      absl::StatusOr<std::unique_ptr<Loop>> loop = CreateLoop(choice, kRingEntries, &fell_back);
      if (!loop.ok()) return absl::StrCat("error: ", loop.status().ToString());
      loops.push_back(*std::move(loop));
    }
    if (fell_back.empty()) return std::string("not counted");
    return absl::StrCat(loops.back()->name(), ": ", fell_back);
  });
  EXPECT_THAT(outcome, AnyOf("not counted", StartsWith("epoll: io_uring_setup: ENOMEM")));
}

TEST(UringTest, EntriesAreHalvedWhileMemoryIsShort) {
  if (!HasUring()) GTEST_SKIP() << "NOT TESTED: " << ProbeLoop(Backend::kUring).status();
  const std::string entries = InChild([] {
    if (!LimitLockedMemory(64 * 1024)) return std::string("no limit");
    const ErrnoOr<std::unique_ptr<Uring>> ring = Uring::Create({.entries = 4096});
    return ring.ok() ? absl::StrCat((*ring)->entries()) : absl::StrCat("errno ", ring.error().code);
  });
  // 4096 where rings are not counted; ENOMEM (12) when other tests of this user hold the rest.
  EXPECT_THAT(entries, AnyOf("64", "128", "256", "errno 12", "4096"));
}

TEST(EpollLoopTest, MillisecondsWhereNanosecondsAreRefused) {
  for (const int error : {ENOSYS, EPERM}) {
    const std::string outcome = InChild([error] {
      if (!RefuseSystemCall(SYS_epoll_pwait2, error)) return std::string("no filter");
      ErrnoOr<std::unique_ptr<EpollLoop>> loop = EpollLoop::Create();
      if (!loop.ok()) return std::string("no loop");
      const UniqueFd event(::eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC));
      if ((*loop)->Watch(event.get(), 2, Loop::Interest::kRead) < 0) return std::string("no watch");
      if ((*loop)->Turn(-1).size() != 1) return std::string("no event");
      for (const int64_t nanos : {int64_t{1}, 2 * kNanosPerMilli + 1}) {
        const MonotonicNanos start = Clock::System().Now();
        if (!(*loop)->Turn(nanos).empty()) return std::string("an event");
        if (Clock::System().Now() - start < nanos) return std::string("too short");
      }
      return std::string("works");
    });
    EXPECT_EQ(outcome, "works") << error;
  }
}

}  // namespace
}  // namespace sluice::sys
