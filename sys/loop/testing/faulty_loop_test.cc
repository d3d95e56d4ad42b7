#include "sys/loop/testing/faulty_loop.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sys/base/unique_fd.h"
#include "sys/loop/loop.h"
#include "sys/loop/testing/loop_kinds.h"
#include "sys/thread/clock.h"

namespace sluice::sys::testing {
namespace {

class FaultyLoopTest : public ::testing::TestWithParam<LoopKind> {
 protected:
  std::unique_ptr<FaultyLoop> Make(uint64_t seed, FaultyLoop::Chances chances) {
    absl::StatusOr<std::unique_ptr<Loop>> loop = MakeLoop(GetParam());
    if (!loop.ok()) return nullptr;
    return std::make_unique<FaultyLoop>(*std::move(loop), seed, chances);
  }
};

INSTANTIATE_TEST_SUITE_P(Loops, FaultyLoopTest, ::testing::ValuesIn(kLoopKinds),
                         LoopKindName<::testing::TestParamInfo<LoopKind>>);

// One end of a pair that sends counted bytes and receives those of the other, by the rules of edge-triggered readiness.
struct End {
  UniqueFd fd;
  Loop::WatchId watch = 0;
  int to_send = 0;
  int received = 0;
  bool finished = false;  // the other side's end was read

  void Run(uint16_t ready) {
    char buffer[1000] = {};
    if ((ready & (Loop::kReadable | Loop::kReadHangUp)) != 0) {
      ssize_t got;
      while ((got = ::recv(fd.get(), buffer, sizeof buffer, 0)) > 0) received += static_cast<int>(got);
      if (got == 0) finished = true;
    }
    if ((ready & Loop::kWritable) != 0 && to_send > 0) {
      ssize_t sent;
      while (to_send > 0 &&
             (sent = ::send(fd.get(), buffer, std::min<int>(sizeof buffer, to_send), MSG_NOSIGNAL)) > 0) {
        to_send -= static_cast<int>(sent);
      }
      if (to_send == 0) ::shutdown(fd.get(), SHUT_WR);
    }
  }
};

// Moves bytes both ways over many pairs and releases everything; true when all came and nothing was left.
void MoveEverything(FaultyLoop& loop) {
  constexpr int kPairs = 40;
  constexpr int kBytes = 200'000;
  std::vector<End> ends(2 * kPairs);
  for (int i = 0; i < kPairs; ++i) {
    int fds[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    for (int side = 0; side < 2; ++side) {
      End& end = ends[2 * i + side];
      end.fd = UniqueFd(fds[side]);
      end.to_send = kBytes;
      const int64_t watch = loop.Watch(fds[side], 2 * i + side, Loop::Interest::kBoth);
      ASSERT_GE(watch, 0);
      end.watch = static_cast<Loop::WatchId>(watch);
    }
  }
  std::set<Loop::Token> releasing, released;
  const MonotonicNanos deadline = Clock::System().Now() + 40 * kNanosPerSecond;
  while (released.size() < ends.size()) {
    ASSERT_LT(Clock::System().Now(), deadline) << "something was lost";
    for (const Loop::Event& event : loop.Turn(kNanosPerSecond)) {
      End& end = ends[event.token];
      if ((event.ready & Loop::kReleased) != 0) {
        EXPECT_EQ(releasing.count(event.token), 1u);
        EXPECT_TRUE(released.insert(event.token).second) << "released twice";
        continue;
      }
      if (released.count(event.token) == 1) continue;  // stale, as asked for
      end.Run(event.ready);
      if (end.finished && end.to_send == 0 && releasing.insert(event.token).second) loop.Release(end.watch);
    }
  }
  for (const End& end : ends) EXPECT_EQ(end.received, kBytes);
  EXPECT_EQ(loop.watches(), 0);
}

TEST_P(FaultyLoopTest, LosesNothing) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    std::unique_ptr<FaultyLoop> loop = Make(seed, {});
    if (loop == nullptr) GTEST_SKIP() << "NOT TESTED, this machine has no io_uring";
    MoveEverything(*loop);
    EXPECT_GT(loop->faults(), 100) << "too tame";
    if (HasFatalFailure()) return;
  }
}

TEST_P(FaultyLoopTest, EverythingAtOnce) {
  std::unique_ptr<FaultyLoop> loop = Make(
      7,
      {.late = 900, .split = 900, .twice = 900, .for_nothing = 900, .early = 500, .slow_release = 900, .stale = 900});
  if (loop == nullptr) GTEST_SKIP() << "NOT TESTED, this machine has no io_uring";
  MoveEverything(*loop);
}

TEST_P(FaultyLoopTest, WithoutFaultsItIsTheLoop) {
  std::unique_ptr<FaultyLoop> loop =
      Make(1, {.late = 0, .split = 0, .twice = 0, .for_nothing = 0, .early = 0, .slow_release = 0, .stale = 0});
  if (loop == nullptr) GTEST_SKIP() << "NOT TESTED, this machine has no io_uring";
  MoveEverything(*loop);
  EXPECT_EQ(loop->faults(), 0);
}

TEST_P(FaultyLoopTest, RefusesAndLosesWatchesWhenAsked) {
  std::unique_ptr<FaultyLoop> loop = Make(1, {.refused = 1000});
  if (loop == nullptr) GTEST_SKIP() << "NOT TESTED, this machine has no io_uring";
  int fds[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
  const UniqueFd ours(fds[0]);
  const UniqueFd theirs(fds[1]);
  EXPECT_EQ(loop->Watch(ours.get(), 1, Loop::Interest::kBoth), -ENOMEM);
  loop = Make(1, {.early = 0, .lost = 1000});
  const int64_t watch = loop->Watch(ours.get(), 1, Loop::Interest::kBoth);
  ASSERT_GE(watch, 0);
  bool lost = false;
  for (int turn = 0; turn < 10; ++turn) {
    for (const Loop::Event& event : loop->Turn(0)) lost |= (event.ready & Loop::kError) != 0;
  }
  EXPECT_TRUE(lost);
  loop->Release(static_cast<Loop::WatchId>(watch));
  for (int turn = 0; turn < 10 && loop->watches() > 0; ++turn) loop->Turn(0);
  EXPECT_EQ(loop->watches(), 0);
}

}  // namespace
}  // namespace sluice::sys::testing
