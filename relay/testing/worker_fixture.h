#ifndef SLUICE_RELAY_TESTING_WORKER_FIXTURE_H_
#define SLUICE_RELAY_TESTING_WORKER_FIXTURE_H_

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "relay/testing/peer.h"
#include "relay/testing/session_harness.h"
#include "relay/worker_pool.h"
#include "sys/loop/loop_probe.h"
#include "sys/thread/mutex.h"

namespace sluice::relay::testing {

inline constexpr int kPatienceMillis = 20'000;

// Waits, without a loop of its own thread, for what other threads bring about.
inline bool Await(const std::function<bool()>& done) {
  const sys::MonotonicNanos deadline = sys::Clock::System().Now() + kPatienceMillis * sys::kNanosPerMilli;
  while (!done()) {
    if (sys::Clock::System().Now() > deadline) return false;
    poll(nullptr, 0, 1);
  }
  return true;
}

inline std::string ReadExactly(int fd, size_t size) {
  std::string all;
  char buffer[4096];
  pollfd wait{fd, POLLIN, 0};
  while (all.size() < size && poll(&wait, 1, kPatienceMillis) == 1) {
    const ssize_t n = recv(fd, buffer, std::min(sizeof buffer, size - all.size()), 0);
    if (n <= 0) break;
    all.append(buffer, static_cast<size_t>(n));
  }
  return all;
}

inline bool SeesEnd(int fd) {
  pollfd wait{fd, POLLIN, 0};
  char byte;
  return poll(&wait, 1, kPatienceMillis) == 1 && recv(fd, &byte, 1, 0) <= 0;
}

class CountingObserver final : public SessionObserver {
 public:
  struct Counts {
    std::atomic<int> ended{0}, shut_down{0}, destroyed{0};
    std::atomic<int64_t> bytes{0};
  };
  explicit CountingObserver(Counts* counts) : counts_(counts) {}
  ~CountingObserver() override { ++counts_->destroyed; }
  void OnConnected(int, const sys::SocketAddress&) override {}
  void OnConnectFailed(const sys::SocketAddress&, int) override {}
  void OnProgress(const SessionReport&) override {}
  void OnEnd(const SessionReport& report) override {
    counts_->bytes += report.from_client.bytes + report.from_upstream.bytes;
    if (report.reason.code == EndCode::kShutDown) ++counts_->shut_down;
    ++counts_->ended;
  }

 private:
  Counts* const counts_;
};

// Keeps the clients that it is given, until told to drop them.
class KeepingHandler final : public AdmissionHandler {
 public:
  KeepingHandler(int limit, std::function<void()> on_room) : budget_(limit, std::move(on_room)) {}

  void OnAdmitted(Worker& worker, sys::UniqueFd client, sys::SocketAddress, Admission admission) override {
    if (on_admitted_) on_admitted_(worker);
    sys::MutexLock lock(mutex_);
    kept_.push_back({std::move(client), std::move(admission)});
    by_worker_.resize(std::max<size_t>(by_worker_.size(), worker.index() + 1));
    ++by_worker_[worker.index()];
    admitted_.fetch_add(1);
  }
  ConnectionBudget& budget() override { return budget_; }

  int admitted() const { return admitted_.load(); }
  std::vector<int> by_worker() {
    sys::MutexLock lock(mutex_);
    return by_worker_;
  }
  void DropOne() {
    Kept kept;
    {
      sys::MutexLock lock(mutex_);
      kept = std::move(kept_.back());
      kept_.pop_back();
    }
  }
  // Before clients come.
  void SetOnAdmitted(std::function<void(Worker&)> on_admitted) { on_admitted_ = std::move(on_admitted); }

 private:
  struct Kept {
    sys::UniqueFd fd;
    Admission admission;
  };
  ConnectionBudget budget_;
  std::function<void(Worker&)> on_admitted_;
  sys::Mutex mutex_;
  std::vector<Kept> kept_ ABSL_GUARDED_BY(mutex_);
  std::vector<int> by_worker_ ABSL_GUARDED_BY(mutex_);
  std::atomic<int> admitted_{0};
};

// A pool of workers on threads of their own, and what a test needs to talk to them.
class WorkerTest : public ::testing::TestWithParam<sys::Backend> {
 protected:
  void Start(int workers) {
    std::signal(SIGPIPE, SIG_IGN);
    absl::StatusOr<sys::LoopChoice> choice = sys::ProbeLoop(GetParam());
    if (!choice.ok()) {
      ASSERT_NE(GetParam(), sys::Backend::kEpoll) << choice.status();
      GTEST_SKIP() << "NOT TESTED, this machine has no io_uring: " << choice.status();
    }
    std::vector<std::string> notes;
    pool_ = *WorkerPool::Create(workers, *choice, {}, &sys::Clock::System(), &notes);
    ASSERT_TRUE(pool_->Start().ok());
  }
  void TearDown() override {
    if (pool_ != nullptr) pool_->Stop();
  }

  // Runs on the worker; returns when it has.
  void RunOn(int worker, std::function<void(Worker&)> task) {
    std::atomic<bool> done{false};
    pool_->at(worker).Run([&](Worker& w) {
      task(w);
      done.store(true);
    });
    ASSERT_TRUE(Await([&] { return done.load(); }));
  }

  void Listen(int worker, AcceptorSet::Id id, TestListener& listener, std::shared_ptr<AdmissionHandler> handler,
              bool deal = false) {
    RunOn(worker, [&](Worker& w) { EXPECT_EQ(w.acceptors().Add(id, std::move(listener.fd), handler, deal), 0); });
  }

  static sys::UniqueFd Connect(const TestListener& listener) {
    sockaddr_storage storage;
    const socklen_t length = listener.address.ToSockaddr(storage);
    sys::UniqueFd fd(socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&storage), length), 0) << errno;
    return fd;
  }

  // A connected session as a hand-off, and its far ends.
  struct Ends {
    sys::UniqueFd client, upstream;
  };
  Ends MakeSession(Handoff& handoff) {
    SocketPair client = MakeSocketPair(SocketKind::kUnix), upstream = MakeSocketPair(SocketKind::kUnix);
    handoff.client = std::move(client.accepted);
    handoff.upstream = std::move(upstream.dialed);
    handoff.options = &options_;
    handoff.observer = std::make_unique<CountingObserver>(&counts_);
    return {std::move(client.dialed), std::move(upstream.accepted)};
  }

  // Nothing goes round and round: turns happen only when somebody asks for one.
  void ExpectNoSpinning(int worker) {
    const int64_t before = pool_->at(worker).stats().turns.value();
    constexpr int kTasks = 50;
    for (int i = 0; i < kTasks; ++i) RunOn(worker, [](Worker&) {});
    EXPECT_LE(pool_->at(worker).stats().turns.value() - before, 3 * kTasks);
  }

  RelayOptions options_;
  CountingObserver::Counts counts_;
  std::unique_ptr<WorkerPool> pool_;
};

}  // namespace sluice::relay::testing

#endif  // SLUICE_RELAY_TESTING_WORKER_FIXTURE_H_
