#include "relay/timer_wheel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace sluice::relay {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TimerWheelTest, FiresAtItsTickAndNotBefore) {
  TimerWheel wheel(1000);
  wheel.Reserve(4);
  wheel.Arm(1, 1005);
  std::vector<TimerWheel::Id> due;
  wheel.Advance(1004, due);
  EXPECT_THAT(due, IsEmpty());
  EXPECT_EQ(wheel.TicksToNext(), 1);
  wheel.Advance(1005, due);
  EXPECT_THAT(due, ElementsAre(1));
  EXPECT_FALSE(wheel.armed(1));
  EXPECT_EQ(wheel.TicksToNext(), -1);
}

TEST(TimerWheelTest, APastTickFiresAtTheNextOne) {
  TimerWheel wheel(1000);
  wheel.Reserve(1);
  wheel.Arm(0, 990);
  std::vector<TimerWheel::Id> due;
  wheel.Advance(1001, due);
  EXPECT_THAT(due, ElementsAre(0));
}

TEST(TimerWheelTest, DisarmedAndRearmedTimersFireAsLastSaid) {
  TimerWheel wheel(0);
  wheel.Reserve(2);
  wheel.Arm(0, 10);
  wheel.Arm(1, 10);
  wheel.Disarm(0);
  wheel.Arm(1, 5000);
  std::vector<TimerWheel::Id> due;
  wheel.Advance(4999, due);
  EXPECT_THAT(due, IsEmpty());
  wheel.Advance(5000, due);
  EXPECT_THAT(due, ElementsAre(1));
}

TEST(TimerWheelTest, BeyondItsReachItFiresEarlyEnoughToBeArmedAgain) {
  TimerWheel wheel(0);
  wheel.Reserve(1);
  wheel.Arm(0, TimerWheel::kReachTicks + 1000);
  std::vector<TimerWheel::Id> due;
  wheel.Advance(TimerWheel::kReachTicks, due);
  EXPECT_THAT(due, ElementsAre(0));
}

// Against a plain map: every timer fires in the first Advance() at or after its tick, across the wrap of the ticks too,
// and TicksToNext() never oversleeps.
TEST(TimerWheelTest, RandomWalkAgreesWithAMap) {
  for (const uint32_t start : {0u, 1u, 63u, 4095u, 0xfffff000u, 0xffffffffu}) {
    std::mt19937 random(start + 7);
    TimerWheel wheel(start);
    constexpr int kTimers = 200;
    wheel.Reserve(kTimers);
    std::map<uint32_t, int64_t> expected;  // id -> ticks since start
    int64_t elapsed = 0;
    for (int step = 0; step < 3000; ++step) {
      for (int i = 0; i < 3; ++i) {
        const uint32_t id = random() % kTimers;
        if (random() % 4 == 0) {
          wheel.Disarm(id);
          expected.erase(id);
        } else {
          const int64_t delay = 1 + random() % (random() % 3 == 0 ? 300000 : 200);
          wheel.Arm(id, static_cast<uint32_t>(start + elapsed + delay));
          expected[id] = elapsed + delay;
        }
      }
      ASSERT_EQ(wheel.armed_count(), static_cast<int>(expected.size()));
      int64_t first = -1;
      for (const auto& [id, when] : expected) first = first < 0 ? when : std::min(first, when);
      const int64_t next = wheel.TicksToNext();
      ASSERT_EQ(next < 0, first < 0);
      if (first >= 0) {
        ASSERT_LE(next, first - elapsed);
      }
      elapsed += random() % 5 == 0 ? random() % 5000 : random() % 20;
      std::vector<TimerWheel::Id> due;
      wheel.Advance(static_cast<uint32_t>(start + elapsed), due);
      for (const TimerWheel::Id id : due) {
        ASSERT_TRUE(expected.count(id)) << id;
        ASSERT_LE(expected[id], elapsed);
        expected.erase(id);
      }
      for (const auto& [id, when] : expected) ASSERT_GT(when, elapsed) << id;
    }
  }
}

}  // namespace
}  // namespace sluice::relay
