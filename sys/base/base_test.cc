#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "sys/base/errno_or.h"
#include "sys/base/errno_status.h"
#include "sys/base/unique_fd.h"

namespace sluice::sys {
namespace {

bool IsOpen(int fd) { return fcntl(fd, F_GETFD) >= 0; }

TEST(UniqueFdTest, ClosesWhenDestroyed) {
  int number = -1;
  {
    UniqueFd fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(fd.valid());
    number = fd.get();
    EXPECT_TRUE(IsOpen(number));
  }
  EXPECT_FALSE(IsOpen(number));
}

TEST(UniqueFdTest, MovingLeavesTheSourceEmptyAndClosesTheOldValue) {
  UniqueFd a(open("/dev/null", O_RDONLY | O_CLOEXEC));
  UniqueFd b(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int kept = a.get();
  const int replaced = b.get();
  b = std::move(a);
  EXPECT_FALSE(a.valid());  // NOLINT: the moved-from state is part of the contract
  EXPECT_EQ(b.get(), kept);
  EXPECT_TRUE(IsOpen(kept));
  EXPECT_FALSE(IsOpen(replaced));
}

TEST(UniqueFdTest, EveryNegativeNumberIsEmpty) {
  UniqueFd fd(-7);
  EXPECT_FALSE(fd.valid());
  EXPECT_EQ(fd.get(), -1);
}

TEST(ErrnoOrTest, HoldsAValueOrAnErrno) {
  ErrnoOr<int> value = 7;
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value, 7);
  ErrnoOr<int> error = Errno{ENOENT};
  ASSERT_FALSE(error.ok());
  EXPECT_EQ(error.error().code, ENOENT);
}

TEST(ErrnoStatusTest, SaysTheContextAndTheReason) {
  const absl::Status status = ErrnoStatus(ENOENT, "open /x");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(std::string(status.message()), "open /x: No such file or directory");
  EXPECT_EQ(ErrnoName(ECONNREFUSED), "ECONNREFUSED");
  EXPECT_EQ(ErrnoName(99999), "errno 99999");
}

}  // namespace
}  // namespace sluice::sys
