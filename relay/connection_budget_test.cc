#include "relay/connection_budget.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace sluice::relay {
namespace {

TEST(ConnectionBudgetTest, GivesAsManyPlacesAsItsLimit) {
  int rooms = 0;
  ConnectionBudget budget(3, [&] { ++rooms; });
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(budget.TryTake());
  EXPECT_FALSE(budget.TryTake());
  EXPECT_EQ(budget.used(), 3);
  EXPECT_EQ(budget.refusals(), 1);
  EXPECT_EQ(rooms, 0);
  budget.Return();
  EXPECT_EQ(rooms, 1) << "somebody had been refused";
  EXPECT_TRUE(budget.TryTake());
}

TEST(ConnectionBudgetTest, NobodyIsCalledWhenNobodyWasRefused) {
  int rooms = 0;
  ConnectionBudget budget(2, [&] { ++rooms; });
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(budget.TryTake());
    ASSERT_TRUE(budget.TryTake());
    budget.Return();
    budget.Return();
  }
  EXPECT_EQ(rooms, 0);
}

TEST(ConnectionBudgetTest, IsCalledOnceForManyRefusals) {
  int rooms = 0;
  ConnectionBudget budget(1, [&] { ++rooms; });
  ASSERT_TRUE(budget.TryTake());
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(budget.TryTake());
  budget.Return();
  EXPECT_EQ(rooms, 1);
  ASSERT_TRUE(budget.TryTake());
  budget.Return();
  EXPECT_EQ(rooms, 1);
}

TEST(ConnectionBudgetTest, PlacesBeyondTheLimitKeepOthersOut) {
  int rooms = 0;
  ConnectionBudget budget(1, [&] { ++rooms; });
  budget.Take();
  budget.Take();
  budget.Take();
  EXPECT_EQ(budget.used(), 3);
  EXPECT_FALSE(budget.TryTake());
  budget.Return();
  budget.Return();
  EXPECT_EQ(rooms, 0) << "still full";
  EXPECT_FALSE(budget.TryTake());
  budget.Return();
  EXPECT_EQ(rooms, 1);
}

TEST(ConnectionBudgetTest, HigherLimitMakesRoomLowerOneEndsNothing) {
  int rooms = 0;
  ConnectionBudget budget(1, [&] { ++rooms; });
  ASSERT_TRUE(budget.TryTake());
  EXPECT_FALSE(budget.TryTake());
  budget.SetLimit(2);
  EXPECT_EQ(rooms, 1);
  ASSERT_TRUE(budget.TryTake());
  budget.SetLimit(1);
  EXPECT_EQ(budget.used(), 2);
  EXPECT_FALSE(budget.TryTake());
}

TEST(AdmissionTest, GivesItsPlaceBackOnce) {
  ConnectionBudget budget(2, [] {});
  ASSERT_TRUE(budget.TryTake());
  {
    Admission first(&budget);
    Admission second(std::move(first));
    Admission third;
    third = std::move(second);
    EXPECT_EQ(budget.used(), 1);
    third.Return();
    EXPECT_EQ(budget.used(), 0);
  }
  EXPECT_EQ(budget.used(), 0);
  ASSERT_TRUE(budget.TryTake());
  ASSERT_TRUE(budget.TryTake());
  Admission one(&budget);
  one = Admission(&budget);  // the place it had is given back
  EXPECT_EQ(budget.used(), 1);
}

// Threads that take, and wait for room only by on_room: none may be forgotten, and the limit holds at every moment.
TEST(ConnectionBudgetTest, NoThreadWaitsForeverForRoom) {
  constexpr int kLimit = 2, kThreads = 6, kRounds = 2000;
  std::atomic<int> rooms{0};
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  ConnectionBudget budget(kLimit, [&] {
    rooms.fetch_add(1);
    rooms.notify_all();
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        for (;;) {
          const int seen = rooms.load();
          if (budget.TryTake()) break;
          rooms.wait(seen);  // a missed call hangs here, and the test's time runs out
        }
        const int now = inside.fetch_add(1) + 1;
        int before = most.load();
        while (now > before && !most.compare_exchange_weak(before, now)) {
        }
        inside.fetch_sub(1);
        budget.Return();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most.load(), kLimit);
  EXPECT_EQ(budget.used(), 0);
}

}  // namespace
}  // namespace sluice::relay
