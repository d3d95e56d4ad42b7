#include "protocols/http/idle_upstreams.h"

#include <sys/socket.h>

#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace sluice::http {
namespace {

constexpr sys::MonotonicNanos kSecond = sys::kNanosPerSecond;

// Two ends of a connection: one for the pool, one for the test.
struct Ends {
  sys::UniqueFd ours, theirs;
};

Ends Connect() {
  int fds[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
  return {sys::UniqueFd(fds[0]), sys::UniqueFd(fds[1])};
}

// Puts one; gives its number and the far end.
std::pair<int, sys::UniqueFd> Put(IdleUpstreams& idle, const std::string& route, sys::MonotonicNanos now) {
  Ends ends = Connect();
  const int fd = ends.ours.get();
  idle.Put(route, {std::move(ends.ours), {}}, now);
  return {fd, std::move(ends.theirs)};
}

int Taken(IdleUpstreams& idle, const std::string& route, sys::MonotonicNanos now) {
  const auto upstream = idle.Take(route, now);
  return upstream.has_value() ? upstream->fd.get() : -1;
}

TEST(IdleUpstreamsTest, TheOneOfTheRouteThatWasPutLast) {
  IdleUpstreams idle;
  const auto first = Put(idle, "a", 0), second = Put(idle, "a", 1), other = Put(idle, "b", 2);
  EXPECT_EQ(Taken(idle, "a", 3), second.first);
  EXPECT_EQ(Taken(idle, "a", 3), first.first);
  EXPECT_EQ(Taken(idle, "a", 3), -1);
  EXPECT_EQ(idle.size(), 1);
}

TEST(IdleUpstreamsTest, OneThatHasEndedOrSpokenIsClosedWhenItIsTaken) {
  IdleUpstreams idle;
  const auto good = Put(idle, "a", 0);
  auto ended = Put(idle, "a", 1), spoke = Put(idle, "a", 2);
  ended.second.reset();
  ASSERT_EQ(send(spoke.second.get(), "x", 1, 0), 1);
  EXPECT_EQ(Taken(idle, "a", 3), good.first);
  char byte;
  EXPECT_LE(recv(spoke.second.get(), &byte, 1, MSG_DONTWAIT), 0);
  EXPECT_EQ(idle.size(), 0);
}

TEST(IdleUpstreamsTest, ASweepClosesWhatHasEndedSpokenOrWaitedTooLong) {
  IdleUpstreams idle;
  const auto old = Put(idle, "a", 0);
  auto ended = Put(idle, "a", 20 * kSecond), spoke = Put(idle, "b", 20 * kSecond);
  const auto good = Put(idle, "b", 20 * kSecond);
  EXPECT_TRUE(idle.Sweep(29 * kSecond));
  EXPECT_EQ(idle.size(), 4);
  ended.second.reset();
  ASSERT_EQ(send(spoke.second.get(), "x", 1, 0), 1);
  EXPECT_TRUE(idle.Sweep(IdleUpstreams::kMostNanos));
  EXPECT_EQ(idle.size(), 1);
  char byte;
  EXPECT_EQ(recv(old.second.get(), &byte, 1, MSG_DONTWAIT), 0) << "its far end is told";
  EXPECT_FALSE(idle.Sweep(20 * kSecond + IdleUpstreams::kMostNanos));
  EXPECT_EQ(recv(good.second.get(), &byte, 1, MSG_DONTWAIT), 0);
}

TEST(IdleUpstreamsTest, TheOldestGivesWay) {
  IdleUpstreams idle;
  std::vector<std::pair<int, sys::UniqueFd>> all;
  for (int i = 0; i <= IdleUpstreams::kMostOfOneRoute; ++i) all.push_back(Put(idle, "a", i));
  EXPECT_EQ(idle.size(), IdleUpstreams::kMostOfOneRoute);
  char byte;
  EXPECT_EQ(recv(all[0].second.get(), &byte, 1, MSG_DONTWAIT), 0);
  EXPECT_LT(recv(all[1].second.get(), &byte, 1, MSG_DONTWAIT), 0);
  for (int i = 0; i < IdleUpstreams::kMost; ++i) all.push_back(Put(idle, std::string(1, 'b') + std::to_string(i), 100));
  EXPECT_EQ(idle.size(), IdleUpstreams::kMost);
  EXPECT_EQ(Taken(idle, "a", 101), -1);
  EXPECT_NE(Taken(idle, "b0", 101), -1);
}

}  // namespace
}  // namespace sluice::http
