#include "relay/first_bytes.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>

#include "relay/worker_pool.h"
#include "sys/loop/loop_probe.h"
#include "sys/net/listen_socket.h"
#include "sys/thread/mutex.h"

namespace sluice::relay {
namespace {

// Counts what it is given; a client that has spoken is read on the worker, which is fine for bytes that are there.
class Recorder final : public AdmissionHandler {
 public:
  explicit Recorder(int64_t nanos) : nanos_(nanos), budget_(100, [] {}) {}

  void OnAdmitted(Worker&, sys::UniqueFd client, sys::SocketAddress, Admission admission) override {
    char buffer[64];
    const ssize_t n = recv(client.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    sys::MutexLock lock(mutex_);
    ++admitted_;
    heard_ = n > 0 ? std::string(buffer, n) : n == 0 ? "<end>" : "<nothing>";
    admission.Return();
    changed_.NotifyAll();
  }
  void OnSilent(sys::UniqueFd, sys::SocketAddress, Admission admission) override {
    sys::MutexLock lock(mutex_);
    ++silent_;
    admission.Return();
    changed_.NotifyAll();
  }
  int64_t first_byte_nanos() const override { return nanos_; }
  ConnectionBudget& budget() override { return budget_; }

  bool Await(const int& count, int wanted) {
    const sys::MonotonicNanos end = sys::Clock::System().Now() + 10 * sys::kNanosPerSecond;
    sys::MutexLock lock(mutex_);
    while (count < wanted && sys::Clock::System().Now() < end) changed_.WaitFor(mutex_, std::chrono::milliseconds(50));
    return count >= wanted;
  }
  int Get(const int& count) {
    sys::MutexLock lock(mutex_);
    return count;
  }
  std::string heard() {
    sys::MutexLock lock(mutex_);
    return heard_;
  }

  int admitted_ = 0;
  int silent_ = 0;

 private:
  const int64_t nanos_;
  ConnectionBudget budget_;
  sys::Mutex mutex_;
  sys::CondVar changed_;
  std::string heard_;
};

class FirstBytesTest : public ::testing::TestWithParam<sys::Backend> {
 protected:
  void Start(int64_t nanos) {
    absl::StatusOr<sys::LoopChoice> choice = sys::ProbeLoop(GetParam());
    if (!choice.ok()) GTEST_SKIP() << choice.status();
    std::vector<std::string> notes;
    pool_ = *WorkerPool::Create(1, *choice, {}, &sys::Clock::System(), &notes);
    recorder_ = std::make_shared<Recorder>(nanos);
    sys::ListenOptions options;
    options.address = sys::SocketAddress::Loopback(sys::AddressFamily::kIpv4, 0);
    sys::UniqueFd listener = *sys::OpenListener(options);
    address_ = sys::SocketAddress::OfSocket(listener.get());
    auto shared = std::make_shared<sys::UniqueFd>(std::move(listener));
    pool_->at(0).Run([shared, recorder = recorder_](Worker& worker) {
      ASSERT_EQ(worker.acceptors().Add(1, std::move(*shared), recorder, false), 0);
    });
    ASSERT_TRUE(pool_->Start().ok());
  }

  sys::UniqueFd Connect() {
    sys::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_storage storage;
    const socklen_t length = address_.ToSockaddr(storage);
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&storage), length), 0);
    return fd;
  }

  // The client sees the end of its connection.
  static bool SeesEnd(const sys::UniqueFd& fd) {
    pollfd wait = {fd.get(), POLLIN, 0};
    char byte;
    return poll(&wait, 1, 10'000) == 1 && recv(fd.get(), &byte, 1, 0) <= 0;
  }

  std::unique_ptr<WorkerPool> pool_;
  std::shared_ptr<Recorder> recorder_;
  sys::SocketAddress address_;
};

TEST_P(FirstBytesTest, AClientIsGivenOnOnceItHasSpoken) {
  Start(60 * sys::kNanosPerSecond);
  if (IsSkipped()) return;
  const sys::UniqueFd silent = Connect();
  const sys::UniqueFd speaks = Connect();
  ASSERT_EQ(send(speaks.get(), "hello", 5, 0), 5);
  ASSERT_TRUE(recorder_->Await(recorder_->admitted_, 1));
  EXPECT_EQ(recorder_->heard(), "hello");
  EXPECT_TRUE(SeesEnd(speaks));  // the recorder dropped it: nobody else holds the descriptor
  EXPECT_EQ(recorder_->Get(recorder_->admitted_), 1);
  ASSERT_EQ(send(silent.get(), "x", 1, 0), 1);
  EXPECT_TRUE(recorder_->Await(recorder_->admitted_, 2));
  EXPECT_EQ(recorder_->Get(recorder_->silent_), 0);
}

TEST_P(FirstBytesTest, ASilentClientIsClosedAfterItsTime) {
  Start(20 * sys::kNanosPerMilli);
  if (IsSkipped()) return;
  const sys::UniqueFd silent = Connect();
  EXPECT_TRUE(SeesEnd(silent));
  EXPECT_TRUE(recorder_->Await(recorder_->silent_, 1));
  EXPECT_EQ(recorder_->Get(recorder_->admitted_), 0);
  EXPECT_EQ(recorder_->budget().used(), 0);
}

TEST_P(FirstBytesTest, TheEndOfASilentClientIsGivenOnToo) {
  Start(60 * sys::kNanosPerSecond);
  if (IsSkipped()) return;
  const sys::UniqueFd silent = Connect();
  ASSERT_EQ(shutdown(silent.get(), SHUT_WR), 0);
  ASSERT_TRUE(recorder_->Await(recorder_->admitted_, 1));
  EXPECT_EQ(recorder_->heard(), "<end>");
}

TEST_P(FirstBytesTest, ShutdownClosesClientsThatWait) {
  Start(60 * sys::kNanosPerSecond);
  if (IsSkipped()) return;
  const sys::UniqueFd silent = Connect();
  // A second client that speaks tells that the first one has been accepted.
  const sys::UniqueFd speaks = Connect();
  ASSERT_EQ(send(speaks.get(), "x", 1, 0), 1);
  ASSERT_TRUE(recorder_->Await(recorder_->admitted_, 1));
  pool_->at(0).Run([](Worker& worker) { worker.EndAll(EndCode::kShutDown); });
  EXPECT_TRUE(SeesEnd(silent));
  pool_->Stop();
  EXPECT_EQ(recorder_->budget().used(), 0);
}

INSTANTIATE_TEST_SUITE_P(BothLoops, FirstBytesTest, ::testing::Values(sys::Backend::kEpoll, sys::Backend::kUring),
                         [](const auto& info) { return info.param == sys::Backend::kEpoll ? "epoll" : "uring"; });

}  // namespace
}  // namespace sluice::relay
