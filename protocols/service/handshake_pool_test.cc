#include "protocols/service/handshake_pool.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <string>

#include "sys/blocking/wait.h"
#include "sys/thread/clock.h"
#include "sys/thread/mutex.h"

namespace sluice::service {
namespace {

// A gate that tasks wait at, and counts of what has happened, all waited for with a deadline.
class Scene {
 public:
  void Open() {
    sys::MutexLock lock(mutex_);
    open_ = true;
    changed_.NotifyAll();
  }
  void WaitAtGate() {
    sys::MutexLock lock(mutex_);
    ++waiting_;
    changed_.NotifyAll();
    while (!open_) changed_.Wait(mutex_);
    ++passed_;
    changed_.NotifyAll();
  }
  void Note(int& count) {
    sys::MutexLock lock(mutex_);
    ++count;
    changed_.NotifyAll();
  }
  // Until `count` is at least `wanted`.
  bool Await(const int& count, int wanted) {
    const sys::MonotonicNanos end = sys::Clock::System().Now() + 10 * sys::kNanosPerSecond;
    sys::MutexLock lock(mutex_);
    while (count < wanted && sys::Clock::System().Now() < end) changed_.WaitFor(mutex_, std::chrono::milliseconds(100));
    return count >= wanted;
  }
  int Get(const int& count) {
    sys::MutexLock lock(mutex_);
    return count;
  }

  int waiting_ = 0;
  int passed_ = 0;
  int done_ = 0;
  int shed_ = 0;

 private:
  sys::Mutex mutex_;
  sys::CondVar changed_;
  bool open_ = false;
};

HandshakePool::Task Waiting(Scene& scene, std::string destination, std::string client) {
  HandshakePool::Task task;
  task.destination = std::move(destination);
  task.client_address = std::move(client);
  task.run = [&scene] { scene.WaitAtGate(); };
  task.shed = [&scene] { scene.Note(scene.shed_); };
  return task;
}

HandshakePool::Task Quick(Scene& scene, std::string destination, std::string client) {
  HandshakePool::Task task = Waiting(scene, std::move(destination), std::move(client));
  task.run = [&scene] { scene.Note(scene.done_); };
  return task;
}

std::unique_ptr<HandshakePool> MakePool(int threads) {
  auto pool = HandshakePool::Create(threads);
  EXPECT_TRUE(pool.ok()) << pool.status();
  return *std::move(pool);
}

TEST(HandshakePoolTest, ADeadDestinationTakesAQuarterOfTheThreadsAndOthersGoOn) {
  Scene scene;
  auto pool = MakePool(8);
  ASSERT_EQ(pool->cap(), 2);
  for (int i = 0; i < 50; ++i) pool->Submit(Waiting(scene, "black.hole:80", std::to_string(i)));
  ASSERT_TRUE(scene.Await(scene.waiting_, 2));
  pool->Submit(Quick(scene, "alive:80", "x"));
  ASSERT_TRUE(scene.Await(scene.done_, 1));
  EXPECT_EQ(scene.Get(scene.waiting_), 2);
  EXPECT_EQ(pool->stats().waiting_for_cap, 48);
  scene.Open();
  EXPECT_TRUE(scene.Await(scene.passed_, 50));  // nobody was forgotten
  EXPECT_EQ(scene.Get(scene.shed_), 0);
}

TEST(HandshakePoolTest, OneClientTakesAQuarterOfTheThreadsWhateverItsDestinations) {
  Scene scene;
  auto pool = MakePool(8);
  for (int i = 0; i < 20; ++i) pool->Submit(Waiting(scene, std::to_string(i), "192.0.2.1"));
  ASSERT_TRUE(scene.Await(scene.waiting_, 2));
  pool->Submit(Quick(scene, "0", "192.0.2.2"));
  ASSERT_TRUE(scene.Await(scene.done_, 1));
  EXPECT_EQ(scene.Get(scene.waiting_), 2);
  scene.Open();
  EXPECT_TRUE(scene.Await(scene.passed_, 20));
}

TEST(HandshakePoolTest, ATaskThatWaitsForBothCapsRunsOnceBothHaveRoom) {
  Scene scene;
  auto pool = MakePool(8);
  for (int i = 0; i < 2; ++i) pool->Submit(Waiting(scene, "d", std::to_string(i)));
  for (int i = 0; i < 2; ++i) pool->Submit(Waiting(scene, std::to_string(i), "c"));
  ASSERT_TRUE(scene.Await(scene.waiting_, 4));
  pool->Submit(Quick(scene, "d", "c"));
  EXPECT_EQ(scene.Get(scene.done_), 0);
  scene.Open();
  EXPECT_TRUE(scene.Await(scene.done_, 1));
}

TEST(HandshakePoolTest, WhatWaitsBehindACapPastItsDeadlineIsShed) {
  Scene scene;
  auto pool = MakePool(4);  // cap 1
  pool->Submit(Waiting(scene, "d", ""));
  ASSERT_TRUE(scene.Await(scene.waiting_, 1));
  for (int i = 0; i < 10; ++i) {
    HandshakePool::Task task = Quick(scene, "d", "");
    task.deadline = sys::Clock::System().Now() - 1;
    pool->Submit(std::move(task));
  }
  pool->Submit(Quick(scene, "d", ""));
  scene.Open();
  EXPECT_TRUE(scene.Await(scene.shed_, 10));
  EXPECT_TRUE(scene.Await(scene.done_, 1));
  EXPECT_EQ(pool->stats().shed, 10);
}

TEST(HandshakePoolTest, BeyondTheBoundOfWaitingClientsAreShedAtOnce) {
  Scene scene;
  auto pool = MakePool(4);
  for (int i = 0; i < HandshakePool::kMostWaiting + 101; ++i) pool->Submit(Waiting(scene, "d", ""));
  EXPECT_TRUE(scene.Await(scene.shed_, 100));
  EXPECT_EQ(scene.Get(scene.shed_), 100);
  scene.Open();
  EXPECT_TRUE(scene.Await(scene.passed_, HandshakePool::kMostWaiting + 1));
}

TEST(HandshakePoolTest, StopEndsWhatTasksWaitFor) {
  auto pool = HandshakePool::Create(2);
  ASSERT_TRUE(pool.ok());
  Scene scene;
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  std::atomic<int> error{0};
  HandshakePool::Task task;
  task.run = [&, pool = pool->get()] {
    scene.Note(scene.waiting_);
    error = sys::WaitUntilReady(ends[0], sys::Direction::kRead, sys::kNoDeadline, pool->cancellation());
  };
  task.shed = [] {};
  (*pool)->Submit(std::move(task));
  ASSERT_TRUE(scene.Await(scene.waiting_, 1));
  (*pool)->Stop();
  EXPECT_EQ(error, ECANCELED);
  close(ends[0]);
  close(ends[1]);
}

TEST(HandshakePoolTest, StopShedsWhatWaitsAndLaterTasks) {
  Scene scene;
  auto pool = MakePool(4);
  pool->Submit(Waiting(scene, "d", ""));
  for (int i = 0; i < 5; ++i) pool->Submit(Waiting(scene, "d", ""));
  ASSERT_TRUE(scene.Await(scene.waiting_, 1));
  scene.Open();
  pool->Stop();
  pool->Submit(Quick(scene, "e", ""));
  EXPECT_EQ(scene.Get(scene.passed_) + scene.Get(scene.shed_), 7);
  EXPECT_GE(scene.Get(scene.shed_), 1);
  EXPECT_EQ(scene.Get(scene.done_), 0);
}

}  // namespace
}  // namespace sluice::service
