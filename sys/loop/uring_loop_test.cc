// What is the ring's own; the contract is in loop_conformance_test.cc.
#include "sys/loop/uring_loop.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sys/base/errno_or.h"
#include "sys/base/unique_fd.h"
#include "sys/loop/loop.h"
#include "sys/loop/watch_table.h"
#include "sys/ring/op_tag.h"
#include "sys/ring/uring.h"

namespace sluice::sys {
namespace {

class UringLoopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ErrnoOr<std::unique_ptr<UringLoop>> loop = UringLoop::Create({.entries = 64, .completions = 64});
    if (!loop.ok()) GTEST_SKIP() << "NOT TESTED, this machine has no io_uring: errno " << loop.error().code;
    loop_ = *std::move(loop);
  }

  // An eventfd that is watched under its index.
  void Add() {
    fds_.emplace_back(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    const int64_t watch = loop_->Watch(fds_.back().get(), fds_.size() - 1, Loop::Interest::kRead);
    ASSERT_GE(watch, 0);
    watches_.push_back(static_cast<Loop::WatchId>(watch));
  }
  void Signal(size_t i) { ASSERT_EQ(::eventfd_write(fds_[i].get(), 1), 0); }

  void Turns(int turns) {
    for (int i = 0; i < turns; ++i) {
      for (const Loop::Event& event : loop_->Turn(0)) seen_[event.token].push_back(event.ready);
    }
  }
  // Takes away what the kernel has for the loop; the number of completions.
  int LoseCompletions() {
    int lost = 0;
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(loop_->ring().Enter(0), 0);
      loop_->ring().Reap([&](const Uring::Completion&) { return ++lost > 0; });
    }
    return lost;
  }

  std::unique_ptr<UringLoop> loop_;
  std::vector<UniqueFd> fds_;
  std::vector<Loop::WatchId> watches_;
  std::map<Loop::Token, std::vector<uint16_t>> seen_;
};

using Bits = std::vector<uint16_t>;

TEST_F(UringLoopTest, LostCompletionsAreMadeGood) {
  for (int i = 0; i < 4; ++i) Add();
  Turns(3);
  ASSERT_TRUE(seen_.empty());
  Signal(0);
  loop_->Release(watches_[1]);
  loop_->Wake();
  EXPECT_EQ(LoseCompletions(), 3) << "readable, the end of a poll, a wake-up";
  Turns(3);
  ASSERT_TRUE(seen_.empty()) << "they are lost indeed";
  loop_->Release(watches_[2]);  // on its way while the loop recovers
  loop_->Recover();
  Turns(5);
  EXPECT_EQ(seen_[0], Bits{Loop::kReadable});
  EXPECT_EQ(seen_[1], Bits{Loop::kReleased});
  EXPECT_EQ(seen_[2], Bits{Loop::kReleased});
  EXPECT_EQ(seen_.count(3), 0u);
  EXPECT_EQ(loop_->stats().wakes, 1);
  // And from there on as ever, each once.
  seen_.clear();
  Signal(0);
  Signal(3);
  Turns(3);
  EXPECT_EQ(seen_[0], Bits{Loop::kReadable});
  EXPECT_EQ(seen_[3], Bits{Loop::kReadable});
  loop_->Wake();
  Turns(1);
  EXPECT_EQ(loop_->stats().wakes, 2);
  loop_->Release(watches_[0]);
  loop_->Release(watches_[3]);
  Turns(3);
  EXPECT_EQ(seen_[0].back(), Loop::kReleased);
  EXPECT_EQ(seen_[3].back(), Loop::kReleased);
  EXPECT_EQ(loop_->watches(), 0);
}

TEST_F(UringLoopTest, RecoversMoreWatchesThanTheQueuesHold) {
  for (int i = 0; i < 500; ++i) Add();
  Turns(20);
  for (size_t i = 0; i < fds_.size(); ++i) Signal(i);
  EXPECT_GT(LoseCompletions(), 100);
  loop_->Recover();
  Turns(100);
  EXPECT_EQ(seen_.size(), fds_.size());
}

TEST_F(UringLoopTest, OverflowOfTheCompletionQueueLosesNothing) {
  Add();
  Turns(2);
  // Completions that nobody wants fill the queue before the event comes.
  for (uint32_t i = 0; i < 300; ++i) {
    ASSERT_TRUE(loop_->ring().Cancel(~0ull, OpTag{OpKind::kCancel, 0, WatchTable::kNone}.Pack()));
  }
  Signal(0);
  loop_->Wake();
  Turns(20);
  ASSERT_FALSE(seen_[0].empty());
  EXPECT_EQ(seen_[0].front(), Loop::kReadable);
  EXPECT_GE(loop_->stats().wakes, 1);
  EXPECT_GE(loop_->stats().rearmed, 1) << "the poll was meant to end";
  seen_.clear();
  Turns(5);
  EXPECT_TRUE(seen_.empty());
  Signal(0);
  Turns(2);
  EXPECT_EQ(seen_[0], Bits{Loop::kReadable});
}

TEST_F(UringLoopTest, StaleCompletionsAreDroppedAndCounted) {
  Add();
  const uint64_t foreign = OpTag{OpKind::kWatch, 77, watches_[0]}.Pack();
  ASSERT_TRUE(loop_->ring().PollMultishot(fds_[0].get(), 1, foreign));
  Turns(1);
  Signal(0);
  Turns(3);
  EXPECT_EQ(seen_[0], Bits{Loop::kReadable});
  EXPECT_EQ(loop_->stats().stale_events, 1);
}

}  // namespace
}  // namespace sluice::sys
