// How workers accept: limits, shortage, the end of a listener.

#include "relay/acceptor.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "relay/testing/worker_fixture.h"

namespace sluice::relay::testing {
namespace {

class AcceptorTest : public WorkerTest {};

INSTANTIATE_TEST_SUITE_P(Loops, AcceptorTest, ::testing::Values(sys::Backend::kEpoll, sys::Backend::kUring),
                         [](const auto& info) { return info.param == sys::Backend::kEpoll ? "Epoll" : "Uring"; });

TEST_P(AcceptorTest, FullServicePausesAndGoesOnWhenThereIsRoom) {
  Start(2);
  if (IsSkipped()) return;
  auto handler = std::make_shared<KeepingHandler>(2, [this] { pool_->ResumeAccepting(); });
  TestListener listener = testing::Listen(SocketKind::kIpv4);
  Listen(0, 1, listener, handler);
  std::vector<sys::UniqueFd> clients;
  for (int i = 0; i < 5; ++i) clients.push_back(Connect(listener));
  ASSERT_TRUE(Await([&] { return handler->admitted() == 2 && pool_->at(0).acceptor_stats().full_pauses.value() > 0; }));
  ExpectNoSpinning(0);
  EXPECT_EQ(handler->admitted(), 2);
  for (int more = 3; more <= 5; ++more) {
    handler->DropOne();
    ASSERT_TRUE(Await([&] { return handler->admitted() == more; })) << more;
    EXPECT_LE(handler->budget().used(), 2);
  }
  handler->DropOne();
  handler->DropOne();
  // Await: the worker takes a place before it finds that nobody waits, and gives it back then.
  EXPECT_TRUE(Await([&] { return handler->budget().used() == 0; }));
}

TEST_P(AcceptorTest, ListenerThatIsGivenUpServesItsQueueFirst) {
  Start(1);
  if (IsSkipped()) return;
  auto handler = std::make_shared<KeepingHandler>(1, [this] { pool_->ResumeAccepting(); });
  TestListener listener = testing::Listen(SocketKind::kIpv4);
  Listen(0, 1, listener, handler);
  std::vector<sys::UniqueFd> clients;
  for (int i = 0; i < 5; ++i) clients.push_back(Connect(listener));
  ASSERT_TRUE(Await([&] { return handler->admitted() == 1; }));
  std::atomic<bool> closed{false};
  RunOn(0, [&](Worker& w) { w.acceptors().Close(1, [&] { closed = true; }); });
  ASSERT_TRUE(Await([&] { return closed.load(); }));
  EXPECT_EQ(handler->admitted(), 5) << "beyond the limit: they were promised service by the backlog";
  bool empty = false;
  RunOn(0, [&](Worker& w) { empty = w.acceptors().empty(); });
  EXPECT_TRUE(empty);
  sockaddr_storage storage;
  const socklen_t length = listener.address.ToSockaddr(storage);
  const sys::UniqueFd late(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_NE(connect(late.get(), reinterpret_cast<sockaddr*>(&storage), length), 0);
  std::atomic<bool> again{false};
  RunOn(0, [&](Worker& w) { w.acceptors().Close(1, [&] { again = true; }); });
  EXPECT_TRUE(again.load()) << "one that is not there is closed at once";
}

TEST_P(AcceptorTest, UnixClientsAreDealtInTurn) {
  Start(3);
  if (IsSkipped()) return;
  auto handler = std::make_shared<KeepingHandler>(100, [this] { pool_->ResumeAccepting(); });
  TestListener listener = testing::Listen(SocketKind::kUnix);
  Listen(1, 1, listener, handler, true);
  std::vector<sys::UniqueFd> clients;
  for (int i = 0; i < 12; ++i) clients.push_back(Connect(listener));
  ASSERT_TRUE(Await([&] { return handler->admitted() == 12; }));
  EXPECT_EQ(handler->by_worker(), (std::vector<int>{4, 4, 4}));
}

TEST_P(AcceptorTest, WithoutDescriptorsItPausesAndTriesAgain) {
  Start(1);
  if (IsSkipped()) return;
  auto handler = std::make_shared<KeepingHandler>(100, [this] { pool_->ResumeAccepting(); });
  TestListener listener = testing::Listen(SocketKind::kIpv4);
  std::vector<sys::UniqueFd> clients;
  for (int i = 0; i < 40; ++i) clients.push_back(Connect(listener));
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit few{static_cast<rlim_t>(OpenDescriptors() + 3), limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  Listen(0, 1, listener, handler);
  const AcceptorStats& stats = pool_->at(0).acceptor_stats();
  ASSERT_TRUE(Await([&] { return stats.descriptor_pauses.value() >= 1; }));
  const int64_t turns = pool_->at(0).stats().turns.value();
  const int64_t pauses = stats.descriptor_pauses.value();
  // One try each 100 ms, until there are no more descriptors at all; then a failing one.
  EXPECT_TRUE(Await([&] { return stats.descriptor_pauses.value() >= pauses + 5; }));
  EXPECT_LE(pool_->at(0).stats().turns.value() - turns, 30) << "spins";
  EXPECT_LE(handler->admitted(), 4);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_TRUE(Await([&] { return handler->admitted() == 40; }));
}

TEST_P(AcceptorTest, NewHandlerGetsTheClientsThatComeLater) {
  Start(1);
  if (IsSkipped()) return;
  auto first = std::make_shared<KeepingHandler>(1, [this] { pool_->ResumeAccepting(); });
  auto second = std::make_shared<KeepingHandler>(10, [this] { pool_->ResumeAccepting(); });
  TestListener listener = testing::Listen(SocketKind::kIpv6);
  Listen(0, 7, listener, first);
  const sys::UniqueFd one = Connect(listener);
  const sys::UniqueFd two = Connect(listener);
  ASSERT_TRUE(Await([&] { return first->admitted() == 1; }));
  RunOn(0, [&](Worker& w) { w.acceptors().SetHandler(7, second); });
  EXPECT_TRUE(Await([&] { return second->admitted() == 1; })) << "the new budget has room";
  const sys::UniqueFd three = Connect(listener);
  EXPECT_TRUE(Await([&] { return second->admitted() == 2; }));
  EXPECT_EQ(first->admitted(), 1);
}

TEST_P(AcceptorTest, HandlerMayOpenAnotherListener) {
  Start(1);
  if (IsSkipped()) return;
  auto handler = std::make_shared<KeepingHandler>(100, [this] { pool_->ResumeAccepting(); });
  auto inner = std::make_shared<KeepingHandler>(100, [this] { pool_->ResumeAccepting(); });
  std::vector<TestListener> more;
  for (int i = 0; i < 10; ++i) more.push_back(testing::Listen(SocketKind::kIpv4));
  AcceptorSet::Id next = 0;
  handler->SetOnAdmitted([&](Worker& worker) {
    if (next < more.size()) {
      EXPECT_EQ(worker.acceptors().Add(100 + next, std::move(more[next].fd), inner, false), 0);
      ++next;
    }
  });
  TestListener listener = testing::Listen(SocketKind::kIpv4);
  std::vector<sys::UniqueFd> clients;
  for (int i = 0; i < 20; ++i) clients.push_back(Connect(listener));
  Listen(0, 1, listener, handler);
  ASSERT_TRUE(Await([&] { return handler->admitted() == 20; }));
  for (const TestListener& each : more) clients.push_back(Connect(each));
  EXPECT_TRUE(Await([&] { return inner->admitted() == 10; }));
}

}  // namespace
}  // namespace sluice::relay::testing
