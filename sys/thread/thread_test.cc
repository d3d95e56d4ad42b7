#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "sys/thread/clock.h"
#include "sys/thread/mailbox.h"
#include "sys/thread/mutex.h"
#include "sys/thread/thread_role.h"

namespace sluice::sys {
namespace {

TEST(ClockTest, SystemClockMovesForwardAndManualClockOnlyWhenTold) {
  const Clock& clock = Clock::System();
  const MonotonicNanos first = clock.Now();
  EXPECT_GE(clock.Now(), first);
  EXPECT_GT(clock.WallNanos(), int64_t{1'600'000'000} * kNanosPerSecond);
  ManualClock manual(5);
  EXPECT_EQ(manual.Now(), 5);
  manual.Advance(kNanosPerMilli);
  EXPECT_EQ(manual.Now(), 5 + kNanosPerMilli);
}

TEST(MailboxTest, OnlyTheFirstItemAsksForAWakeUp) {
  Mailbox<std::unique_ptr<int>> box;
  EXPECT_TRUE(box.Put(std::make_unique<int>(1)));
  EXPECT_FALSE(box.Put(std::make_unique<int>(2)));
  std::vector<std::unique_ptr<int>> items;
  box.TakeAll(items);
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(*items[1], 2);
  box.TakeAll(items);
  EXPECT_TRUE(items.empty());
  EXPECT_TRUE(box.Put(std::make_unique<int>(3)));
}

TEST(MailboxTest, NothingIsLostBetweenThreads) {
  Mailbox<int> box;
  constexpr int kThreads = 4, kEach = 2000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&box, t] {
      for (int i = 0; i < kEach; ++i) (void)box.Put(t * kEach + i);
    });
  }
  std::set<int> seen;
  std::vector<int> items;
  while (seen.size() < static_cast<size_t>(kThreads * kEach)) {
    box.TakeAll(items);
    for (int item : items) EXPECT_TRUE(seen.insert(item).second);
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(MutexTest, CondVarWaitEndsByNotifyOrByTime) {
  Mutex mutex;
  CondVar condition;
  bool ready = false;
  std::thread other([&] {
    MutexLock lock(mutex);
    ready = true;
    condition.NotifyAll();
  });
  {
    MutexLock lock(mutex);
    while (!ready) condition.Wait(mutex);
  }
  other.join();
  MutexLock lock(mutex);
  while (condition.WaitFor(mutex, std::chrono::milliseconds(1))) {
  }
}

TEST(ThreadRoleTest, IsHeldOnTheAdoptingThreadOnly) {
  ThreadRole role;
  role.Adopt();
  EXPECT_TRUE(role.IsHeld());
  bool elsewhere = true;
  std::thread([&] { elsewhere = role.IsHeld(); }).join();
  EXPECT_FALSE(elsewhere);
}

}  // namespace
}  // namespace sluice::sys
