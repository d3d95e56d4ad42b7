#ifndef SLUICE_SYS_LOOP_TESTING_CONFORMANCE_H_
#define SLUICE_SYS_LOOP_TESTING_CONFORMANCE_H_

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "sys/base/unique_fd.h"
#include "sys/loop/loop.h"
#include "sys/loop/testing/loop_kinds.h"
#include "sys/thread/clock.h"

namespace sluice::sys::testing {

// What the files of the conformance test share: a loop of each kind, and turns until something is seen.
class LoopConformanceTest : public ::testing::TestWithParam<LoopKind> {
 protected:
  using Token = Loop::Token;
  using Interest = Loop::Interest;

  static constexpr MonotonicNanos kPatience = 20 * kNanosPerSecond;  // a deadline for failures, never waited out

  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Loop>> loop = MakeLoop(GetParam());
    if (!loop.ok()) {
      ASSERT_NE(GetParam(), LoopKind::kEpoll) << loop.status();
      GTEST_SKIP() << "NOT TESTED, this machine has no io_uring: " << loop.status();
    }
    loop_ = *std::move(loop);
  }

  Loop::WatchId Watch(int fd, Token token, Interest interest = Interest::kBoth) {
    const int64_t watch = loop_->Watch(fd, token, interest);
    EXPECT_GE(watch, 0) << "fd " << fd;
    return static_cast<Loop::WatchId>(watch);
  }

  // One turn; its events are added to seen_ and counted.
  int Turn(int64_t timeout_nanos) {
    const absl::Span<const Loop::Event> events = loop_->Turn(timeout_nanos);
    EXPECT_LE(events.size(), static_cast<size_t>(Loop::kEventsPerTurn));
    for (const Loop::Event& event : events) {
      EXPECT_NE(event.ready, 0);
      seen_[event.token] |= event.ready;
      if (event.ready & Loop::kReleased) {
        EXPECT_EQ(event.ready, Loop::kReleased);
        ++released_[event.token];
      }
    }
    return static_cast<int>(events.size());
  }

  // Turns until `done()`, or for kPatience.
  template <typename Done>
  ::testing::AssertionResult TurnUntil(Done done) {
    const MonotonicNanos deadline = Clock::System().Now() + kPatience;
    while (!done()) {
      if (Clock::System().Now() > deadline) return ::testing::AssertionFailure() << "did not happen";
      Turn(100 * kNanosPerMilli);
    }
    return ::testing::AssertionSuccess();
  }

  // Turns until all `bits` were seen for `token`, since Forget().
  ::testing::AssertionResult Sees(Token token, uint16_t bits) {
    ::testing::AssertionResult result = TurnUntil([&] { return (seen_[token] & bits) == bits; });
    return result << ": token " << token << " has " << seen_[token] << ", wanted " << bits;
  }

  // Nothing more is reported: some turns that do not wait, and one that does.
  ::testing::AssertionResult Quiet() {
    Forget();
    for (int i = 0; i < 3; ++i) Turn(0);
    Turn(5 * kNanosPerMilli);
    if (seen_.empty()) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "token " << seen_.begin()->first << " has " << seen_.begin()->second;
  }

  void Forget() { seen_.clear(); }

  std::unique_ptr<Loop> loop_;
  std::map<Token, uint16_t> seen_;  // bits by token
  std::map<Token, int> released_;   // kReleased by token
};

struct Ends {
  UniqueFd ours;
  UniqueFd theirs;
};

inline Ends UnixPair() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0) << errno;
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// A non-blocking listener on a free loopback port.
inline UniqueFd Listener(sockaddr_in* address) {
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  *address = {};
  address->sin_family = AF_INET;
  address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof *address;
  EXPECT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(address), size), 0) << errno;
  EXPECT_EQ(::listen(listener.get(), 64), 0) << errno;
  EXPECT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(address), &size), 0) << errno;
  return listener;
}

inline Ends TcpPair() {
  sockaddr_in address;
  const UniqueFd listener = Listener(&address);
  UniqueFd theirs(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(theirs.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0) << errno;
  // The client's last ACK may still be on its way through the loopback.
  pollfd arrival{listener.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&arrival, 1, 20'000), 1);
  UniqueFd ours(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  EXPECT_TRUE(ours.valid()) << errno;
  EXPECT_EQ(::fcntl(theirs.get(), F_SETFL, O_NONBLOCK), 0);
  const int on = 1;  // single bytes are sent at once
  EXPECT_EQ(::setsockopt(theirs.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), 0);
  return {std::move(ours), std::move(theirs)};
}

inline void Send(int fd, int bytes = 1) {
  static constexpr char kBytes[64] = {};
  EXPECT_EQ(::send(fd, kBytes, bytes, MSG_NOSIGNAL), bytes) << errno;
}

// Reads until EAGAIN or the end; the number of bytes.
inline int64_t Drain(int fd) {
  char buffer[65536];
  int64_t all = 0;
  for (ssize_t got; (got = ::read(fd, buffer, sizeof buffer)) > 0;) all += got;
  return all;
}

}  // namespace sluice::sys::testing

#endif  // SLUICE_SYS_LOOP_TESTING_CONFORMANCE_H_
