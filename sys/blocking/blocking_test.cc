#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sys/base/unique_fd.h"
#include "sys/blocking/connect.h"
#include "sys/blocking/deadline_stream.h"
#include "sys/blocking/wait.h"
#include "sys/net/listen_socket.h"
#include "sys/net/socket_address.h"

namespace sluice::sys {
namespace {

MonotonicNanos In(int64_t millis) { return Clock::System().Now() + millis * kNanosPerMilli; }
// Only ever reached when something is broken.
MonotonicNanos Far() { return In(20'000); }

struct Pair {
  Pair() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    near = UniqueFd(ends[0]);
    far = UniqueFd(ends[1]);
  }
  void Send(absl::string_view bytes) {
    ASSERT_EQ(send(far.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  UniqueFd near, far;
};

TEST(DeadlineStreamTest, LinesThenBytesThenTheRestForTheHandOff) {
  Pair pair;
  pair.Send("GET / HTTP/1.1\r\nHost: a\r\n12345rest of it");
  DeadlineStream stream(pair.near.get(), Far());
  EXPECT_EQ(*stream.ReadUntil("\r\n", 100), "GET / HTTP/1.1\r\n");
  EXPECT_EQ(*stream.ReadUntil("\r\n", 9), "Host: a\r\n");
  EXPECT_EQ(*stream.Peek(2), "12");
  char five[5];
  ASSERT_TRUE(stream.ReadExactly(absl::MakeSpan(five)).ok());
  EXPECT_EQ(std::string(five, 5), "12345");
  EXPECT_EQ(stream.buffered(), "rest of it");
  EXPECT_EQ(stream.TakeBuffered(), "rest of it");
  EXPECT_EQ(stream.buffered(), "");
  EXPECT_EQ(stream.TakeBuffered(), "");
}

TEST(DeadlineStreamTest, ADelimiterMayComeInPieces) {
  Pair pair;
  std::thread sender([&] {
    for (const char c : std::string("ab\r\r\n\r\nx")) pair.Send(std::string(1, c));
  });
  DeadlineStream stream(pair.near.get(), Far());
  EXPECT_EQ(*stream.ReadUntil("\r\n\r\n", 100), "ab\r\r\n\r\n");
  char x = 0;
  ASSERT_TRUE(stream.ReadExactly(absl::MakeSpan(&x, 1)).ok());
  EXPECT_EQ(x, 'x');
  sender.join();
}

TEST(DeadlineStreamTest, MoreThanTheLimitIsAnErrorAndStaysBuffered) {
  Pair pair;
  pair.Send("0123456789\n");
  DeadlineStream stream(pair.near.get(), Far());
  EXPECT_EQ(stream.ReadUntil("\n", 10).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(stream.last_errno(), 0);
  EXPECT_EQ(stream.buffered(), "0123456789") << "nothing beyond the limit is read";
  EXPECT_EQ(*stream.ReadUntil("\n", 11), "0123456789\n");
}

TEST(DeadlineStreamTest, FillMoreAndConsumeServeAParserOfItsOwn) {
  Pair pair;
  pair.Send("abc");
  DeadlineStream stream(pair.near.get(), Far());
  ASSERT_TRUE(stream.FillMore(100).ok());
  EXPECT_EQ(stream.buffered(), "abc");
  stream.Consume(2);
  pair.Send("def");
  ASSERT_TRUE(stream.FillMore(3).ok());
  EXPECT_EQ(stream.buffered(), "cde");
  EXPECT_EQ(stream.FillMore(3).code(), absl::StatusCode::kResourceExhausted);
  char out[8];
  EXPECT_EQ(*stream.ReadSome(absl::MakeSpan(out)), 3u);
  EXPECT_EQ(*stream.ReadSome(absl::MakeSpan(out)), 1u);
  EXPECT_EQ(out[0], 'f');
}

TEST(DeadlineStreamTest, TheEndIsOutOfRangeAndWhatCameBeforeIsKept) {
  Pair pair;
  pair.Send("half a li");
  pair.far.reset();
  DeadlineStream stream(pair.near.get(), Far());
  const absl::Status status = stream.ReadUntil("\n", 100).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(status.message(), "end of stream");
  EXPECT_EQ(stream.last_errno(), 0);
  EXPECT_EQ(stream.TakeBuffered(), "half a li");
}

TEST(DeadlineStreamTest, SilenceEndsAtTheDeadline) {
  Pair pair;
  const MonotonicNanos deadline = In(20);
  DeadlineStream stream(pair.near.get(), deadline);
  char byte;
  const absl::Status status = stream.ReadExactly(absl::MakeSpan(&byte, 1));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(stream.last_errno(), ETIMEDOUT);
  EXPECT_GE(Clock::System().Now(), deadline);
}

TEST(DeadlineStreamTest, ATalkativeClientEndsAtTheDeadlineToo) {
  Pair pair;
  std::atomic<bool> stop{false};
  std::thread sender([&] {
    while (!stop) (void)!send(pair.far.get(), "xxxxxxxxxxxxxxxx", 16, MSG_NOSIGNAL);
  });
  DeadlineStream stream(pair.near.get(), In(20));
  char out[64];
  absl::Status status;
  while (status.ok()) status = stream.ReadSome(absl::MakeSpan(out)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  stop = true;
  sender.join();
}

TEST(DeadlineStreamTest, BufferedBytesAreGivenAfterTheDeadlineAndANewOneLetsItGoOn) {
  Pair pair;
  pair.Send("a\nb\n");
  DeadlineStream stream(pair.near.get(), Far());
  EXPECT_EQ(*stream.ReadUntil("\n", 10), "a\n");
  stream.set_deadline(In(-1));
  EXPECT_EQ(*stream.ReadUntil("\n", 10), "b\n");
  pair.Send("c\n");
  EXPECT_EQ(stream.ReadUntil("\n", 10).status().code(), absl::StatusCode::kDeadlineExceeded);
  stream.set_deadline(Far());
  EXPECT_EQ(*stream.ReadUntil("\n", 10), "c\n");
}

TEST(DeadlineStreamTest, WriteAllWaitsForASlowReader) {
  Pair pair;
  const std::string much(4 * 1024 * 1024, 'w');
  size_t received = 0;
  std::thread reader([&] {
    DeadlineStream stream(pair.far.get(), Far());
    std::vector<char> out(65536);
    while (true) {
      absl::StatusOr<size_t> got = stream.ReadSome(absl::MakeSpan(out));
      if (!got.ok()) break;
      received += *got;
    }
  });
  DeadlineStream stream(pair.near.get(), Far());
  EXPECT_TRUE(stream.WriteAll(much).ok());
  shutdown(pair.near.get(), SHUT_WR);
  reader.join();
  EXPECT_EQ(received, much.size());
}

TEST(DeadlineStreamTest, WriteAllEndsAtTheDeadlineAndByAClosedSocket) {
  Pair pair;
  DeadlineStream stream(pair.near.get(), In(20));
  EXPECT_EQ(stream.WriteAll(std::string(4 * 1024 * 1024, 'w')).code(), absl::StatusCode::kDeadlineExceeded);
  pair.far.reset();
  EXPECT_FALSE(stream.WriteAll("x").ok());
  EXPECT_EQ(stream.last_errno(), EPIPE);
}

TEST(DeadlineStreamTest, CancellationEndsAWaitAtOnceAndForGood) {
  Pair pair;
  Cancellation cancellation;
  DeadlineStream stream(pair.near.get(), kNoDeadline, &cancellation);
  std::thread canceller([&] { cancellation.Cancel(); });
  char byte;
  EXPECT_EQ(stream.ReadExactly(absl::MakeSpan(&byte, 1)).code(), absl::StatusCode::kCancelled);
  canceller.join();
  EXPECT_EQ(stream.last_errno(), ECANCELED);
  pair.Send("x");
  EXPECT_EQ(stream.ReadExactly(absl::MakeSpan(&byte, 1)).code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(cancellation.cancelled());
}

TEST(WaitUntilReadyTest, ABadDescriptorIsNotWaitedFor) {
  EXPECT_EQ(WaitUntilReady(1'000'000, Direction::kRead, Far(), nullptr), EBADF);
}

// A listener whose backlog is `backlog`, on loopback or at a path.
UniqueFd Listener(SocketAddress address, int backlog = 8) {
  ListenOptions options;
  options.address = std::move(address);
  options.backlog = backlog;
  absl::StatusOr<UniqueFd> fd = OpenListener(options);
  EXPECT_TRUE(fd.ok()) << fd.status();
  return *std::move(fd);
}

TEST(ConnectTest, ConnectsToBothFamilies) {
  for (const AddressFamily family : {AddressFamily::kIpv4, AddressFamily::kIpv6}) {
    UniqueFd listener = Listener(SocketAddress::Loopback(family, 0));
    ErrnoOr<UniqueFd> fd = OpenConnection(SocketAddress::OfSocket(listener.get()), Far(), nullptr);
    ASSERT_TRUE(fd.ok());
    EXPECT_EQ(SocketAddress::OfPeer(fd->get()), SocketAddress::OfSocket(listener.get()));
  }
}

TEST(ConnectTest, ARefusalIsItsErrno) {
  UniqueFd bound(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_storage storage;
  const socklen_t length = SocketAddress::Loopback(AddressFamily::kIpv4, 0).ToSockaddr(storage);
  ASSERT_EQ(bind(bound.get(), reinterpret_cast<sockaddr*>(&storage), length), 0);
  ErrnoOr<UniqueFd> fd = OpenConnection(SocketAddress::OfSocket(bound.get()), Far(), nullptr);
  ASSERT_FALSE(fd.ok());
  EXPECT_EQ(fd.error().code, ECONNREFUSED);
  EXPECT_EQ(OpenConnection(*SocketAddress::ParseUnix("/nosuchfolder/s"), Far(), nullptr).error().code, ENOENT);
  EXPECT_EQ(OpenConnection(SocketAddress(), Far(), nullptr).error().code, EAFNOSUPPORT);
}

TEST(ConnectTest, ASocketConnectedToItselfIsRefused) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_storage storage;
  const socklen_t length = SocketAddress::Loopback(AddressFamily::kIpv4, 0).ToSockaddr(storage);
  ASSERT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&storage), length), 0);
  // TCP's simultaneous open, with oneself.
  EXPECT_EQ(ConnectWithDeadline(fd.get(), SocketAddress::OfSocket(fd.get()), Far(), nullptr), ECONNREFUSED);
  EXPECT_EQ(SocketAddress::OfPeer(fd.get()), SocketAddress::OfSocket(fd.get())) << "it really was connected";
}

// A loopback listener with a full queue drops SYNs: connecting to it takes for ever.
TEST(ConnectTest, TheDeadlineAndTheCancellationEndAConnectThatHangs) {
  UniqueFd listener = Listener(SocketAddress::Loopback(AddressFamily::kIpv4, 0), 1);
  const SocketAddress address = SocketAddress::OfSocket(listener.get());
  std::vector<UniqueFd> filling;
  int result = 0;
  for (int i = 0; i < 10 && result == 0; ++i) {
    filling.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    result = ConnectWithDeadline(filling.back().get(), address, In(100), nullptr);
  }
  EXPECT_EQ(result, ETIMEDOUT);
  Cancellation cancellation;
  std::thread canceller([&] { cancellation.Cancel(); });
  EXPECT_EQ(OpenConnection(address, kNoDeadline, &cancellation).error().code, ECANCELED);
  canceller.join();
}

TEST(ConnectTest, AFullUnixBacklogIsTriedAgain) {
  const SocketAddress address = *SocketAddress::ParseUnix(absl::StrCat("@sluice-connect-test-", getpid()));
  UniqueFd listener = Listener(address, 1);
  std::vector<UniqueFd> waiting;
  while (true) {
    ErrnoOr<UniqueFd> fd = OpenConnection(address, In(50), nullptr);
    if (!fd.ok()) {
      EXPECT_EQ(fd.error().code, ETIMEDOUT);
      break;
    }
    waiting.push_back(*std::move(fd));
    ASSERT_LT(waiting.size(), 10u);
  }
  std::thread acceptor([&] { EXPECT_TRUE(AcceptFrom(listener.get()).ok()); });
  EXPECT_TRUE(OpenConnection(address, Far(), nullptr).ok());
  acceptor.join();
}

}  // namespace
}  // namespace sluice::sys
