// Workers on threads of their own: what other threads hand them.

#include "relay/worker.h"

#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "relay/testing/worker_fixture.h"

namespace sluice::relay::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Loops, WorkerTest, ::testing::Values(sys::Backend::kEpoll, sys::Backend::kUring),
                         [](const auto& info) { return info.param == sys::Backend::kEpoll ? "Epoll" : "Uring"; });

TEST_P(WorkerTest, ManyThreadsHandSessionsOver) {
  constexpr int kThreads = 4, kSessions = 40;
  Start(2);
  if (IsSkipped()) return;
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kSessions; ++i) {
        Handoff handoff;
        handoff.from_client = "early ";
        const Ends ends = MakeSession(handoff);
        pool_->at((t + i) % 2).Post(std::move(handoff));
        const std::string token = std::to_string(t) + ":" + std::to_string(i);
        if (send(ends.client.get(), token.data(), token.size(), MSG_NOSIGNAL) < 0) continue;
        if (ReadExactly(ends.upstream.get(), 6 + token.size()) == "early " + token) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right.load(), kThreads * kSessions);
  EXPECT_TRUE(Await([&] { return counts_.ended == kThreads * kSessions && pool_->running_sessions() == 0; }));
  EXPECT_EQ(pool_->at(0).stats().posted.value() + pool_->at(1).stats().posted.value(), kThreads * kSessions);
}

TEST_P(WorkerTest, TasksRunInTheirOrderOnTheWorkersThread) {
  Start(1);
  if (IsSkipped()) return;
  std::vector<int> order;  // touched by the worker only, until it has run the last one
  std::thread::id thread;
  std::atomic<bool> same{true};
  for (int i = 0; i < 100; ++i) {
    pool_->at(0).Run([&, i](Worker&) {
      if (i == 0) thread = std::this_thread::get_id();
      if (std::this_thread::get_id() != thread) same = false;
      order.push_back(i);
    });
  }
  RunOn(0, [](Worker&) {});
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
  EXPECT_TRUE(same.load());
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST_P(WorkerTest, TaskOfEachSecondRunsUntilItSaysOtherwise) {
  Start(1);
  if (IsSkipped()) return;
  std::atomic<int> runs{0}, others{0};
  const sys::MonotonicNanos started = sys::Clock::System().Now();
  RunOn(0, [&](Worker& worker) {
    worker.EachSecond([&](Worker& worker) {
      if (++runs == 1) worker.EachSecond([&](Worker&) { return ++others < 0; });
      return runs < 2;
    });
  });
  ASSERT_TRUE(Await([&] { return others == 1; }));
  EXPECT_EQ(runs.load(), 2);
  EXPECT_GE(sys::Clock::System().Now() - started, 2 * sys::kNanosPerSecond);
}

TEST_P(WorkerTest, StopDestroysWhatStillRuns) {
  const int descriptors = OpenDescriptors();
  Start(2);
  if (IsSkipped()) return;
  std::vector<Ends> all;
  for (int i = 0; i < 20; ++i) {
    Handoff handoff;
    all.push_back(MakeSession(handoff));
    pool_->at(i % 2).Post(std::move(handoff));
  }
  pool_->Stop();
  pool_.reset();
  EXPECT_EQ(counts_.destroyed, 20);
  EXPECT_EQ(counts_.ended, 0) << "drain first";
  for (const Ends& ends : all) EXPECT_TRUE(SeesEnd(ends.client.get()));
  all.clear();
  EXPECT_TRUE(Await([&] { return OpenDescriptors() == descriptors; }));
}

TEST_P(WorkerTest, EndAllEndsEverySession) {
  Start(2);
  if (IsSkipped()) return;
  std::vector<Ends> all;
  for (int i = 0; i < 20; ++i) {
    Handoff handoff;
    all.push_back(MakeSession(handoff));
    pool_->at(i % 2).Post(std::move(handoff));
  }
  ASSERT_TRUE(Await([&] { return pool_->running_sessions() == 20; }));
  for (int i = 0; i < 2; ++i) RunOn(i, [](Worker& w) { w.EndAll(EndCode::kShutDown); });
  EXPECT_TRUE(Await([&] { return counts_.shut_down == 20 && pool_->running_sessions() == 0; }));
  for (const Ends& ends : all) EXPECT_TRUE(SeesEnd(ends.client.get()) && SeesEnd(ends.upstream.get()));
}

TEST_P(WorkerTest, FarFewerSessionsElsewhereDrawNewOnes) {
  Start(2);
  if (IsSkipped()) return;
  std::vector<Ends> all;
  const auto adopt = [&] {
    Handoff handoff;
    all.push_back(MakeSession(handoff));
    auto shared = std::make_shared<Handoff>(std::move(handoff));
    RunOn(0, [shared](Worker& w) {
      w.role().AssertHeld();
      w.Adopt(std::move(*shared));
    });
  };
  for (int i = 0; i < WorkerPool::kLeastDifference; ++i) adopt();
  ASSERT_TRUE(Await([&] { return pool_->at(0).running_sessions() == WorkerPool::kLeastDifference; }));
  EXPECT_EQ(pool_->at(1).running_sessions(), 0) << "small differences stay";
  adopt();
  EXPECT_TRUE(Await([&] { return pool_->at(1).running_sessions() == 1; }));
  EXPECT_EQ(pool_->at(0).running_sessions(), WorkerPool::kLeastDifference);
  adopt();
  EXPECT_TRUE(Await([&] { return pool_->at(0).running_sessions() == WorkerPool::kLeastDifference + 1; }))
      << "15 more are not enough";
}

}  // namespace
}  // namespace sluice::relay::testing
