#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "sys/base/errno_or.h"
#include "sys/base/unique_fd.h"
#include "sys/ring/op_tag.h"
#include "sys/ring/uring.h"
#include "sys/thread/clock.h"

namespace sluice::sys {
namespace {

TEST(OpTagTest, KeepsItsParts) {
  for (const OpTag tag : {OpTag{OpKind::kWatch, 0, 0}, OpTag{OpKind::kWake, OpTag::kGenerationMask, 0xffffffff},
                          OpTag{OpKind::kCancel, 1, 2}}) {
    const OpTag same = OpTag::Unpack(tag.Pack());
    EXPECT_EQ(same.kind, tag.kind);
    EXPECT_EQ(same.generation, tag.generation);
    EXPECT_EQ(same.slot, tag.slot);
  }
  EXPECT_EQ(OpTag::Unpack(OpTag{OpKind::kWatch, OpTag::kGenerationMask + 1, 0}.Pack()).kind, OpKind::kWatch)
      << "a generation does not run into the kind";
}

class UringTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    ErrnoOr<std::unique_ptr<Uring>> ring = Uring::Create({.entries = 64, .plain = GetParam()});
    if (!ring.ok()) GTEST_SKIP() << "NOT TESTED, this machine has no io_uring: errno " << ring.error().code;
    ring_ = *std::move(ring);
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    reading_ = UniqueFd(ends[0]);
    writing_ = UniqueFd(ends[1]);
  }

  std::vector<Uring::Completion> Reap() {
    std::vector<Uring::Completion> all;
    ring_->Reap([&](const Uring::Completion& done) {
      all.push_back(done);
      return true;
    });
    return all;
  }
  // Enters until something has completed.
  std::vector<Uring::Completion> Next() {
    for (int i = 0; i < 100 && !ring_->HasCompletions(); ++i) EXPECT_EQ(ring_->Enter(kNanosPerSecond), 0);
    return Reap();
  }

  std::unique_ptr<Uring> ring_;
  UniqueFd reading_, writing_;
};

INSTANTIATE_TEST_SUITE_P(Flags, UringTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Plain" : "Deferred"; });

TEST_P(UringTest, PollGoesOnUntilItIsCancelled) {
  ASSERT_TRUE(ring_->PollMultishot(reading_.get(), POLLIN, 7));
  EXPECT_EQ(ring_->Enter(0), 0);
  EXPECT_FALSE(ring_->HasCompletions());
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(::write(writing_.get(), "x", 1), 1);
    const std::vector<Uring::Completion> done = Next();
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].tag, 7u);
    EXPECT_EQ(done[0].result, POLLIN);
    EXPECT_TRUE(done[0].more);
  }
  ASSERT_TRUE(ring_->Cancel(7, 8));
  const std::vector<Uring::Completion> done = Next();
  ASSERT_EQ(done.size(), 1u) << "a cancellation that works completes by the request that it ends";
  EXPECT_EQ(done[0].tag, 7u);
  EXPECT_EQ(done[0].result, -ECANCELED);
  EXPECT_FALSE(done[0].more);
}

TEST_P(UringTest, CancelOfNothingSaysSo) {
  ASSERT_TRUE(ring_->Cancel(7, 8));
  const std::vector<Uring::Completion> done = Next();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].tag, 8u);
  EXPECT_EQ(done[0].result, -ENOENT);
}

TEST_P(UringTest, BadDescriptorCompletesWithItsError) {
  ASSERT_TRUE(ring_->PollMultishot(19999, POLLIN, 7));
  const std::vector<Uring::Completion> done = Next();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].result, -EBADF);
  EXPECT_FALSE(done[0].more);
}

TEST_P(UringTest, MoreRequestsThanEntriesAreSubmittedOnTheWay) {
  for (unsigned i = 0; i < 10 * ring_->entries(); ++i) ASSERT_TRUE(ring_->Cancel(7, i)) << i;
  std::vector<bool> seen(10 * ring_->entries());
  unsigned count = 0;
  for (int turn = 0; turn < 1000 && count < seen.size(); ++turn) {
    for (const Uring::Completion& done : Next()) {
      EXPECT_FALSE(seen[done.tag]);
      seen[done.tag] = true;
      ++count;
    }
  }
  EXPECT_EQ(count, seen.size()) << "more than the completion queue holds, and none lost";
}

TEST_P(UringTest, ReapStopsWhenToldAndGoesOnFromThere) {
  for (unsigned i = 0; i < 3; ++i) ASSERT_TRUE(ring_->Cancel(7, i));
  ASSERT_EQ(ring_->Enter(kNanosPerSecond), 0);
  ring_->Reap([](const Uring::Completion& done) { return done.tag != 1; });
  EXPECT_TRUE(ring_->HasCompletions());
  EXPECT_EQ(ring_->Enter(-1), 0) << "does not wait while some are left";
  const std::vector<Uring::Completion> rest = Reap();
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].tag, 2u);
}

TEST_P(UringTest, TheThreadThatEntersFirstIsTheOwner) {
  std::thread worker([&] {
    ASSERT_TRUE(ring_->PollMultishot(writing_.get(), POLLOUT, 1));
    EXPECT_EQ(Next().size(), 1u);
  });
  worker.join();
}

TEST(UringCreateTest, AsksForDeferredCompletionsAndOneIssuer) {
  const ErrnoOr<std::unique_ptr<Uring>> ring = Uring::Create({});
  if (!ring.ok()) GTEST_SKIP() << "NOT TESTED, this machine has no io_uring: errno " << ring.error().code;
  EXPECT_EQ((*ring)->entries(), 512u);
  EXPECT_EQ((*ring)->completions(), 2048u);
  EXPECT_TRUE((*ring)->flags() & IORING_SETUP_DEFER_TASKRUN) << "kernel 6.1 has it";
  EXPECT_TRUE((*ring)->flags() & IORING_SETUP_SINGLE_ISSUER);
}

}  // namespace
}  // namespace sluice::sys
