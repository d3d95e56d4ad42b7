#include "sys/process/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sys/thread/affinity.h"

namespace sluice::sys {
namespace {

MonotonicNanos Now() { return Clock::System().Now(); }

// True once `condition` holds; false after 20 s.
bool Eventually(const std::function<bool()>& condition) {
  const MonotonicNanos give_up_at = Now() + 20 * kNanosPerSecond;
  while (!condition()) {
    if (Now() > give_up_at) return false;
    std::this_thread::yield();
  }
  return true;
}

// Opens once; those who wait before go on.
class Gate {
 public:
  void Open() {
    MutexLock lock(mutex_);
    open_ = true;
    condition_.NotifyAll();
  }
  void Wait() {
    MutexLock lock(mutex_);
    while (!open_) condition_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar condition_;
  bool open_ = false;
};

std::unique_ptr<ThreadPool> NewPool(ThreadPool::Options options) {
  absl::StatusOr<std::unique_ptr<ThreadPool>> pool = ThreadPool::Create(std::move(options));
  EXPECT_TRUE(pool.ok()) << pool.status();
  return *std::move(pool);
}

TEST(ThreadPoolTest, RunsEverythingWithAsManyThreadsAsAllowed) {
  auto pool = NewPool({.most_threads = 4});
  EXPECT_EQ(pool->stats().threads, 0) << "none before there is work";
  std::atomic<int> ran{0}, at_once{0}, most_at_once{0};
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(pool->Submit([&] {
      const int now = ++at_once;
      int seen = most_at_once.load();
      while (now > seen && !most_at_once.compare_exchange_weak(seen, now)) {
      }
      ++ran;
      --at_once;
    }));
  }
  EXPECT_TRUE(Eventually([&] { return pool->stats().done == 500; }));
  EXPECT_EQ(ran, 500);
  EXPECT_LE(most_at_once, 4);
  EXPECT_LE(pool->stats().most_threads_seen, 4);
  EXPECT_EQ(pool->stats().queued, 0);
}

TEST(ThreadPoolTest, BlockedTasksDoNotHoldUpOthersWhileThereAreThreads) {
  auto pool = NewPool({.most_threads = 8});
  Gate gate;
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(pool->Submit([&] { gate.Wait(); }));
  Gate ran;
  ASSERT_TRUE(pool->Submit([&] { ran.Open(); }));
  ran.Wait();
  gate.Open();
}

TEST(ThreadPoolTest, AnIdleThreadIsUsedAgain) {
  auto pool = NewPool({.most_threads = 8});
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(pool->Submit([] {}));
    ASSERT_TRUE(Eventually([&] { return pool->stats().done == i + 1 && pool->stats().idle > 0; }));
  }
  EXPECT_EQ(pool->stats().most_threads_seen, 1);
}

TEST(ThreadPoolTest, ThreadsEndWhenIdleAndComeBack) {
  constexpr int kThreads = 16;
  auto pool = NewPool({.most_threads = kThreads, .idle_nanos = kNanosPerMilli});
  // Many rounds: the keeper makes the threads while the tasks are still coming in, and each of them needs its own.
  for (int round = 0; round < 50; ++round) {
    Gate gate;
    for (int i = 0; i < kThreads; ++i) ASSERT_TRUE(pool->Submit([&] { gate.Wait(); }));
    EXPECT_TRUE(Eventually([&] { return pool->stats().threads == kThreads; }));
    gate.Open();
    ASSERT_TRUE(Eventually([&] { return pool->stats().threads == 0; }));
    EXPECT_EQ(pool->stats().done, kThreads * (round + 1));
  }
}

TEST(ThreadPoolTest, AFullQueueLeavesTheTaskWithTheCaller) {
  auto pool = NewPool({.most_threads = 1, .most_queued = 2});
  Gate gate, started;
  ASSERT_TRUE(pool->Submit([&] {
    started.Open();
    gate.Wait();
  }));
  started.Wait();
  ASSERT_TRUE(pool->Submit([] {}));
  ASSERT_TRUE(pool->Submit([] {}));
  bool ran = false;
  ThreadPool::Task task;
  task.run = [&] { ran = true; };
  EXPECT_FALSE(pool->Submit(std::move(task)));
  task.run();  // NOLINT: untouched is part of the contract
  EXPECT_TRUE(ran);
  EXPECT_EQ(pool->stats().refused, 1);
  EXPECT_EQ(pool->stats().queued, 2);
  gate.Open();
  EXPECT_TRUE(Eventually([&] { return pool->stats().done == 3; }));
}

TEST(ThreadPoolTest, QueuedTasksExpireEvenWhenEveryThreadIsStuck) {
  auto pool = NewPool({.most_threads = 1});
  Gate gate, started;
  ASSERT_TRUE(pool->Submit([&] {
    started.Open();
    gate.Wait();
  }));
  started.Wait();
  std::atomic<int> expired{0}, ran{0};
  MonotonicNanos late_by = 0;
  Gate first;
  // The second deadline is the earlier one, and a task without any stays.
  const MonotonicNanos soon = Now() + 5 * kNanosPerMilli;
  for (const MonotonicNanos deadline : {soon + 5 * kNanosPerMilli, soon}) {
    ThreadPool::Task task;
    task.run = [&] { ++ran; };
    task.expired = [&, deadline] {
      if (deadline == soon) {
        late_by = Now() - deadline;
        first.Open();
      }
      ++expired;
    };
    task.deadline = deadline;
    ASSERT_TRUE(pool->Submit(std::move(task)));
  }
  ASSERT_TRUE(pool->Submit([&] { ++ran; }));
  first.Wait();
  EXPECT_TRUE(Eventually([&] { return expired == 2; }));
  EXPECT_GE(late_by, 0);
  EXPECT_EQ(pool->stats().expired, 2);
  EXPECT_EQ(pool->stats().queued, 1);
  EXPECT_EQ(ran, 0);
  gate.Open();
  EXPECT_TRUE(Eventually([&] { return ran == 1; }));
}

TEST(ThreadPoolTest, ATaskThatIsOverdueWhenItsTurnComesIsNotRun) {
  auto pool = NewPool({.most_threads = 2});
  bool ran = false;
  Gate expired;
  ThreadPool::Task task;
  task.run = [&] { ran = true; };
  task.expired = [&] { expired.Open(); };
  task.deadline = Now() - 1;
  ASSERT_TRUE(pool->Submit(std::move(task)));
  expired.Wait();
  EXPECT_TRUE(Eventually([&] { return pool->stats().expired == 1; }));
  EXPECT_FALSE(ran);
}

TEST(ThreadPoolTest, StopExpiresWhatIsQueuedAndWaitsForWhatRuns) {
  auto pool = NewPool({.most_threads = 1});
  Gate gate, started;
  std::atomic<bool> finished{false};
  ASSERT_TRUE(pool->Submit([&] {
    started.Open();
    gate.Wait();
    finished = true;
  }));
  started.Wait();
  auto held = std::make_shared<int>(1);
  std::weak_ptr<int> watch = held;
  ThreadPool::Task task;
  task.run = [held = std::move(held)] { ADD_FAILURE() << "must not run"; };
  task.expired = [&] { gate.Open(); };  // lets the running one go, so that a Stop() that did not call it would hang
  ASSERT_TRUE(pool->Submit(std::move(task)));
  pool->Stop();
  EXPECT_TRUE(finished);
  EXPECT_TRUE(watch.expired()) << "what the task held is released";
  EXPECT_EQ(pool->stats().threads, 0);
  EXPECT_FALSE(pool->Submit([] {}));
  pool->Stop();
}

TEST(ThreadPoolTest, ManySubmittersLoseNothing) {
  auto pool = NewPool({.most_threads = 8, .most_queued = 100000, .idle_nanos = 100'000});
  constexpr int kSubmitters = 4, kEach = 1000;
  std::atomic<int> outcomes{0};
  std::vector<std::thread> submitters;
  for (int s = 0; s < kSubmitters; ++s) {
    submitters.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        ThreadPool::Task task;
        task.run = [&] { ++outcomes; };
        task.expired = [&] { ++outcomes; };
        if (i % 3 == 0) task.deadline = Now() + (i % 7) * 100'000;
        ASSERT_TRUE(pool->Submit(std::move(task)));
      }
    });
  }
  for (std::thread& submitter : submitters) submitter.join();
  EXPECT_TRUE(Eventually([&] { return pool->stats().done + pool->stats().expired == kSubmitters * kEach; }));
  EXPECT_EQ(outcomes, kSubmitters * kEach);
}

TEST(ThreadPoolTest, ThreadsHaveTheProcesssCpusNotTheSubmittersAndNoSignals) {
  auto pool = NewPool({.name = "handshake", .most_threads = 2});
  const std::vector<int> all = MeasureCpuBudget().cpus;
  std::vector<int> seen;
  sigset_t blocked;
  size_t stack_bytes = 0;
  char name[16] = "";
  Gate done;
  std::thread([&] {
    ASSERT_TRUE(PinThisThread(all.front()).ok());
    ASSERT_TRUE(pool->Submit([&] {
      seen = MeasureCpuBudget().cpus;
      pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
      pthread_attr_t attributes;
      ASSERT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
      pthread_attr_getstacksize(&attributes, &stack_bytes);
      pthread_attr_destroy(&attributes);
      pthread_getname_np(pthread_self(), name, sizeof name);
      done.Open();
    }));
    done.Wait();
  }).join();
  EXPECT_EQ(seen, all);
  EXPECT_EQ(sigismember(&blocked, SIGTERM), 1);
  EXPECT_STREQ(name, "handshake");
  EXPECT_LE(stack_bytes, size_t{2 * 1024 * 1024}) << "not the default of 8 MB (sanitizers add to what was asked for)";
}

}  // namespace
}  // namespace sluice::sys
