#include "relay/path_policy.h"

#include "gtest/gtest.h"

namespace sluice::relay {
namespace {

using Mode = PathPolicy::Mode;

constexpr int64_t kAsked = 65536;

SpliceOptions OptionsOfMode(int mode) {
  return {.from_upstream = (mode & 1) != 0, .from_client = (mode & 2) != 0, .automatic = (mode & 4) != 0};
}

TEST(PathPolicyTest, EachModeOfS) {
  constexpr Mode kNever = Mode::kNever, kAlways = Mode::kAlways, kAuto = Mode::kAutomatic;
  constexpr struct {
    int mode;
    Mode download;
    Mode upload;
  } kTable[] = {
      {0, kNever, kNever}, {1, kAlways, kNever}, {2, kNever, kAlways}, {3, kAlways, kAlways},
      {4, kNever, kNever}, {5, kAuto, kNever},   {6, kNever, kAuto},   {7, kAuto, kAuto},
  };
  for (const auto& row : kTable) {
    const SpliceOptions options = OptionsOfMode(row.mode);
    EXPECT_EQ(PathPolicy::ModeOf(options, false), row.download) << "-s" << row.mode;
    EXPECT_EQ(PathPolicy::ModeOf(options, true), row.upload) << "-s" << row.mode;
    EXPECT_EQ(PathPolicy(PathPolicy::ModeOf(options, false)).splicing(), row.download == kAlways) << "-s" << row.mode;
  }
}

TEST(PathPolicyTest, DefaultIsS7WithItsThresholds) {
  const SpliceOptions options;
  EXPECT_EQ(PathPolicy::ModeOf(options, true), Mode::kAutomatic);
  EXPECT_EQ(PathPolicy::ModeOf(options, false), Mode::kAutomatic);
  EXPECT_EQ(options.min_bytes, 16384);
  EXPECT_EQ(options.streak, 2);
  EXPECT_EQ(options.small_bytes, 4096);
}

TEST(PathPolicyTest, NeverAndAlwaysDoNotChange) {
  const SpliceOptions options;
  PathPolicy never(Mode::kNever);
  PathPolicy always(Mode::kAlways);
  for (int i = 0; i < 10; ++i) {
    never.OnCopied(options, kAsked, kAsked);
    always.OnSpliced(options, 1);
  }
  EXPECT_FALSE(never.splicing());
  EXPECT_TRUE(always.splicing());
}

TEST(PathPolicyTest, StreakReadsOfAtLeastMinTurnToSplicing) {
  for (const int streak : {1, 2, 5, 1000}) {
    const SpliceOptions options{.streak = streak};
    PathPolicy policy(Mode::kAutomatic);
    for (int i = 1; i < streak; ++i) {
      policy.OnCopied(options, options.min_bytes, kAsked);
      ASSERT_FALSE(policy.splicing()) << i << " of " << streak;
    }
    policy.OnCopied(options, options.min_bytes, kAsked);
    EXPECT_TRUE(policy.splicing()) << streak;
  }
}

TEST(PathPolicyTest, OneSmallReadBreaksTheStreak) {
  const SpliceOptions options;
  PathPolicy policy(Mode::kAutomatic);
  for (int i = 0; i < 20; ++i) {
    policy.OnCopied(options, options.min_bytes, kAsked);
    policy.OnCopied(options, options.min_bytes - 1, kAsked);
  }
  EXPECT_FALSE(policy.splicing());
  policy.OnCopied(options, options.min_bytes, kAsked);
  policy.OnCopied(options, options.min_bytes, kAsked);
  EXPECT_TRUE(policy.splicing());
}

TEST(PathPolicyTest, MoreThanStreakSmallSplicesTurnBack) {
  const SpliceOptions options;
  PathPolicy policy(Mode::kAutomatic);
  policy.OnCopied(options, kAsked, kAsked);
  policy.OnCopied(options, kAsked, kAsked);
  ASSERT_TRUE(policy.splicing());
  for (int i = 0; i < options.streak; ++i) policy.OnSpliced(options, options.small_bytes - 1);
  EXPECT_TRUE(policy.splicing()) << "exactly STREAK is not more than STREAK";
  policy.OnSpliced(options, options.small_bytes);  // not small: counts anew
  for (int i = 0; i < options.streak; ++i) policy.OnSpliced(options, 1);
  EXPECT_TRUE(policy.splicing());
  policy.OnSpliced(options, 1);
  EXPECT_FALSE(policy.splicing());
  // And there it takes the whole streak again.
  policy.OnCopied(options, kAsked, kAsked);
  EXPECT_FALSE(policy.splicing());
  policy.OnCopied(options, kAsked, kAsked);
  EXPECT_TRUE(policy.splicing());
}

TEST(PathPolicyTest, FullSmallBufferCountsAsABigRead) {
  const SpliceOptions options;
  PathPolicy policy(Mode::kAutomatic);
  policy.OnCopied(options, 4096, 4096);  // -b4096
  policy.OnCopied(options, 4095, 4096);
  policy.OnCopied(options, 4096, 4096);
  EXPECT_FALSE(policy.splicing());
  policy.OnCopied(options, 4096, 4096);
  EXPECT_TRUE(policy.splicing());
}

TEST(PathPolicyTest, RefusedOnceIsRefusedForGood) {
  const SpliceOptions options;
  PathPolicy policy(Mode::kAlways);
  policy.Refuse();
  EXPECT_FALSE(policy.splicing());
  for (int i = 0; i < 10; ++i) policy.OnCopied(options, kAsked, kAsked);
  EXPECT_FALSE(policy.splicing());
}

// A direction that wants to splice and gets no pipe copies meanwhile: that says nothing for or against splicing.
TEST(PathPolicyTest, CopyingForWantOfAPipeLeavesTheDirectionSplicing) {
  const SpliceOptions options;
  PathPolicy policy(Mode::kAutomatic);
  policy.OnCopied(options, kAsked, kAsked);
  policy.OnCopied(options, kAsked, kAsked);
  ASSERT_TRUE(policy.splicing());
  policy.OnCopied(options, kAsked, kAsked);
  for (int i = 0; i < options.streak; ++i) policy.OnSpliced(options, 1);
  EXPECT_TRUE(policy.splicing()) << "the copied read was counted as a small splice";
}

}  // namespace
}  // namespace sluice::relay
