#include "sys/process/limits.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace sluice::sys {
namespace {

TEST(LimitsTest, RaisesTheSoftLimitToTheHardOne) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low = {64, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(OpenFilesLimit().soft, 64);
  absl::StatusOr<ResourceLimit> raised = RaiseOpenFilesLimit();
  ASSERT_TRUE(raised.ok()) << raised.status();
  EXPECT_EQ(raised->soft, static_cast<int64_t>(before.rlim_max));
  EXPECT_EQ(raised->hard, raised->soft);
  EXPECT_EQ(OpenFilesLimit().soft, raised->soft);
}

TEST(LimitsTest, InfinityIsANumber) {
  const rlimit none = {0, 0};
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &before), 0);
  const ResourceLimit limit = LockedMemoryLimit();
  EXPECT_GE(limit.hard, limit.soft);
  EXPECT_GE(limit.soft, 0);
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &none), 0);
  EXPECT_EQ(LockedMemoryLimit().hard, 0);
}

}  // namespace
}  // namespace sluice::sys
