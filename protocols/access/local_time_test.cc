#include <cstdlib>

#include "gtest/gtest.h"
#include "protocols/access/request_facts.h"
#include "sys/thread/clock.h"

namespace sluice::access {
namespace {

// Before anything else asks for the time zone, which is read once.
const bool kZoneIsSet = setenv("TZ", "UTC", 1) == 0;

TEST(LocalTimeTest, DaysBeginOnSunday) {
  ASSERT_TRUE(kZoneIsSet);
  // 1970-01-01 was a Thursday.
  EXPECT_EQ(LocalTime::At(0).weekday, 4);
  EXPECT_EQ(LocalTime::At(0).second, 0);
  const int64_t sunday = int64_t{3} * 86400 * sys::kNanosPerSecond;
  EXPECT_EQ(LocalTime::At(sunday).weekday, 0);
  EXPECT_EQ(LocalTime::At(sunday - 1).weekday, 6);
  EXPECT_EQ(LocalTime::At(sunday - 1).second, 86399);
  EXPECT_EQ(LocalTime::At(sunday + 3661 * sys::kNanosPerSecond).second, 3661);
}

}  // namespace
}  // namespace sluice::access
