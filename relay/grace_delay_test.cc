#include "relay/grace_delay.h"

#include "gtest/gtest.h"

namespace sluice::relay {
namespace {

constexpr GraceOptions kOptions{.traffic_bytes = 8000, .reads = 3, .delay_millis = 2};
constexpr sys::MonotonicNanos kStart = 1000 * sys::kNanosPerSecond;

TEST(GraceDelayTest, OffUnlessReadsAndDelayAreGiven) {
  EXPECT_FALSE(GraceOptions{}.enabled());
  EXPECT_FALSE((GraceOptions{.traffic_bytes = 8000, .reads = 2}).enabled());
  EXPECT_FALSE((GraceOptions{.traffic_bytes = 8000, .delay_millis = 2}).enabled());
  EXPECT_TRUE((GraceOptions{.reads = 1, .delay_millis = 1}).enabled());
}

TEST(GraceDelayTest, WaitsFromTheNthSmallReadOn) {
  GraceDelay grace;
  EXPECT_FALSE(grace.OnRead(kOptions, 100, kStart));
  EXPECT_FALSE(grace.OnRead(kOptions, 100, kStart + 1));
  EXPECT_TRUE(grace.OnRead(kOptions, 100, kStart + 2));
  EXPECT_TRUE(grace.OnRead(kOptions, 100, kStart + 3)) << "and each one after";
}

TEST(GraceDelayTest, AverageOfExactlyTraffIsStillSmall) {
  GraceDelay grace;
  grace.OnRead(kOptions, 16'000, kStart);
  grace.OnRead(kOptions, 0, kStart);
  EXPECT_TRUE(grace.OnRead(kOptions, 8000, kStart));
  GraceDelay more;
  more.OnRead(kOptions, 16'000, kStart);
  more.OnRead(kOptions, 0, kStart);
  EXPECT_FALSE(more.OnRead(kOptions, 8001, kStart));
}

TEST(GraceDelayTest, StopsAsSoonAsReadsAverageMore) {
  GraceDelay grace;
  for (int i = 0; i < 3; ++i) grace.OnRead(kOptions, 100, kStart);
  EXPECT_FALSE(grace.OnRead(kOptions, 64'000, kStart));
  // The average of the whole second counts: it takes small reads to bring it down again.
  EXPECT_FALSE(grace.OnRead(kOptions, 100, kStart));
  bool waits = false;
  for (int i = 0; i < 10; ++i) waits = grace.OnRead(kOptions, 100, kStart);
  EXPECT_TRUE(waits);
}

TEST(GraceDelayTest, CountsRestartWithTheSecond) {
  GraceDelay grace;
  grace.OnRead(kOptions, 100, kStart);
  grace.OnRead(kOptions, 100, kStart + sys::kNanosPerSecond - 1);
  EXPECT_FALSE(grace.OnRead(kOptions, 100, kStart + sys::kNanosPerSecond));
  EXPECT_FALSE(grace.OnRead(kOptions, 100, kStart + sys::kNanosPerSecond));
  EXPECT_TRUE(grace.OnRead(kOptions, 100, kStart + sys::kNanosPerSecond));
}

TEST(GraceDelayTest, ReadOfTheOtherDirectionRestartsTheCounts) {
  GraceDelay grace;
  for (int round = 0; round < 5; ++round) {
    EXPECT_FALSE(grace.OnRead(kOptions, 100, kStart));
    EXPECT_FALSE(grace.OnRead(kOptions, 100, kStart));
    grace.OnOtherDirectionRead();
  }
  grace.OnRead(kOptions, 100, kStart);
  grace.OnRead(kOptions, 100, kStart);
  EXPECT_TRUE(grace.OnRead(kOptions, 100, kStart));
}

TEST(GraceDelayTest, MoreThanFourGigabytesInASecondIsNotSmall) {
  const GraceOptions options{.traffic_bytes = 100, .reads = 1, .delay_millis = 1};
  GraceDelay grace;
  for (int i = 0; i < 5; ++i) grace.OnRead(options, int64_t{1} << 30, kStart);
  EXPECT_FALSE(grace.OnRead(options, 1, kStart));
}

}  // namespace
}  // namespace sluice::relay
