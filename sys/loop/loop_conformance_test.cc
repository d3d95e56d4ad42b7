// One suite that holds both loops to the contract of loop.h: readiness here, waiting and waking in
// loop_waiting_cases.cc, release and load in loop_release_cases.cc.

#include <atomic>
#include <thread>

#include "sys/loop/testing/conformance.h"

namespace sluice::sys::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Loops, LoopConformanceTest, ::testing::ValuesIn(kLoopKinds),
                         LoopKindName<::testing::TestParamInfo<LoopKind>>);

TEST_P(LoopConformanceTest, InitialStateIsReported) {
  const Ends both = UnixPair();
  const Ends reads = UnixPair();
  const Ends writes = UnixPair();
  for (const Ends* pair : {&both, &reads, &writes}) Send(pair->theirs.get());
  Watch(both.ours.get(), 1, Interest::kBoth);
  Watch(reads.ours.get(), 2, Interest::kRead);
  Watch(writes.ours.get(), 3, Interest::kWrite);
  EXPECT_TRUE(Sees(1, Loop::kReadable | Loop::kWritable));
  EXPECT_TRUE(Sees(2, Loop::kReadable));
  EXPECT_TRUE(Sees(3, Loop::kWritable));
  EXPECT_EQ(seen_[1], Loop::kReadable | Loop::kWritable);
  EXPECT_EQ(seen_[2], Loop::kReadable);
  EXPECT_EQ(seen_[3], Loop::kWritable);
  EXPECT_EQ(loop_->watches(), 3);
}

TEST_P(LoopConformanceTest, InitialStateComesInTheNextTurnWithoutWaiting) {
  const Ends pair = UnixPair();
  Watch(pair.ours.get(), 1, Interest::kWrite);
  EXPECT_EQ(Turn(0), 1);
}

TEST_P(LoopConformanceTest, NothingToReadIsNotReported) {
  const Ends pair = UnixPair();
  Watch(pair.ours.get(), 1, Interest::kRead);
  EXPECT_TRUE(Quiet());
}

TEST_P(LoopConformanceTest, EdgeIsNotRepeated) {
  const Ends pair = UnixPair();
  Send(pair.theirs.get());
  Watch(pair.ours.get(), 1);
  EXPECT_TRUE(Sees(1, Loop::kReadable | Loop::kWritable));
  EXPECT_TRUE(Quiet()) << "the byte that is still there was reported again";
}

TEST_P(LoopConformanceTest, NewBytesAreReportedAfterEagain) {
  const Ends pair = UnixPair();
  Watch(pair.ours.get(), 1);
  EXPECT_TRUE(Sees(1, Loop::kWritable));
  for (int round = 0; round < 100; ++round) {
    Forget();
    Send(pair.theirs.get(), 10);
    ASSERT_TRUE(Sees(1, Loop::kReadable)) << round;
    ASSERT_EQ(Drain(pair.ours.get()), 10);
  }
  EXPECT_TRUE(Quiet());
  EXPECT_EQ(loop_->stats().rearmed, 0) << "a multishot poll is armed once";
}

TEST_P(LoopConformanceTest, NewBytesAreReportedWhileOldOnesAreUnread) {
  const Ends pair = TcpPair();
  Watch(pair.ours.get(), 1, Interest::kRead);
  for (int round = 0; round < 5; ++round) {
    Forget();
    Send(pair.theirs.get());
    ASSERT_TRUE(Sees(1, Loop::kReadable)) << round;
  }
}

TEST_P(LoopConformanceTest, WritableAfterAFullBufferIsDrained) {
  const Ends pair = TcpPair();
  Watch(pair.ours.get(), 1);
  EXPECT_TRUE(Sees(1, Loop::kWritable));
  static constexpr char kBlock[65536] = {};
  // Full for good only when nothing more fits after a wait: the kernel moves bytes to the other side meanwhile.
  int64_t sent = 0;
  do {
    Forget();
    for (ssize_t got; (got = ::send(pair.ours.get(), kBlock, sizeof kBlock, MSG_NOSIGNAL)) > 0;) sent += got;
    ASSERT_EQ(errno, EAGAIN);
  } while (Turn(20 * kNanosPerMilli) > 0);
  Forget();
  int64_t received = 0;
  EXPECT_TRUE(TurnUntil([&] {
    received += Drain(pair.theirs.get());
    return (seen_[1] & Loop::kWritable) != 0;
  }));
  EXPECT_TRUE(TurnUntil([&] { return (received += Drain(pair.theirs.get())) == sent; }));
}

TEST_P(LoopConformanceTest, ReadHangUpWhateverTheInterest) {
  for (const Interest interest : {Interest::kRead, Interest::kWrite, Interest::kBoth}) {
    const Ends pair = TcpPair();
    const Token token = static_cast<Token>(interest);
    const Loop::WatchId watch = Watch(pair.ours.get(), token, interest);
    Turn(0);
    Forget();
    ASSERT_EQ(::shutdown(pair.theirs.get(), SHUT_WR), 0);
    EXPECT_TRUE(Sees(token, Loop::kReadHangUp));
    EXPECT_EQ(seen_[token] & (Loop::kHangUp | Loop::kError), 0) << "one direction is still open";
    if (interest != Interest::kWrite) {
      EXPECT_TRUE(Sees(token, Loop::kReadable)) << "the end is read like bytes";
    }
    loop_->Release(watch);
    EXPECT_TRUE(Sees(token, Loop::kReleased));
  }
}

TEST_P(LoopConformanceTest, HangUpWhenBothDirectionsAreGone) {
  const Ends pair = TcpPair();
  Watch(pair.ours.get(), 1, Interest::kRead);
  ASSERT_EQ(::shutdown(pair.theirs.get(), SHUT_WR), 0);
  EXPECT_TRUE(Sees(1, Loop::kReadHangUp));
  Forget();
  ASSERT_EQ(::shutdown(pair.ours.get(), SHUT_WR), 0);
  EXPECT_TRUE(Sees(1, Loop::kHangUp));
}

TEST_P(LoopConformanceTest, HangUpOfAUnixSocketThatIsClosed) {
  Ends pair = UnixPair();
  Watch(pair.ours.get(), 1, Interest::kWrite);
  pair.theirs.reset();
  EXPECT_TRUE(Sees(1, Loop::kHangUp | Loop::kReadHangUp));
}

TEST_P(LoopConformanceTest, ResetIsAnErrorWhateverTheInterest) {
  for (const Interest interest : {Interest::kRead, Interest::kWrite, Interest::kBoth}) {
    Ends pair = TcpPair();
    const Token token = static_cast<Token>(interest);
    const Loop::WatchId watch = Watch(pair.ours.get(), token, interest);
    Turn(0);
    Forget();
    const linger at_once{1, 0};
    ASSERT_EQ(::setsockopt(pair.theirs.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    pair.theirs.reset();
    EXPECT_TRUE(Sees(token, Loop::kError | Loop::kHangUp));
    char byte;
    EXPECT_EQ(::recv(pair.ours.get(), &byte, 1, 0), -1);
    EXPECT_EQ(errno, ECONNRESET);
    loop_->Release(watch);
    EXPECT_TRUE(Sees(token, Loop::kReleased));
  }
}

TEST_P(LoopConformanceTest, UrgentDataIsPriority) {
  const Ends pair = TcpPair();
  const int on = 1;
  ASSERT_EQ(::setsockopt(pair.ours.get(), SOL_SOCKET, SO_OOBINLINE, &on, sizeof on), 0);
  Watch(pair.ours.get(), 1);
  EXPECT_TRUE(Sees(1, Loop::kWritable));
  EXPECT_EQ(seen_[1] & Loop::kPriority, 0);
  ASSERT_EQ(::send(pair.theirs.get(), "12!", 3, MSG_OOB), 3);
  EXPECT_TRUE(Sees(1, Loop::kReadable | Loop::kPriority));
  char bytes[8];
  EXPECT_EQ(::recv(pair.ours.get(), bytes, sizeof bytes, 0), 2) << "why it matters: short, and not drained";
  EXPECT_EQ(::recv(pair.ours.get(), bytes, sizeof bytes, 0), 1);
}

TEST_P(LoopConformanceTest, OrdinaryBytesAreNotPriority) {
  // The key of their wake-up says so, and a ring reports keys.
  const Ends tcp = TcpPair();
  const Ends local = UnixPair();
  Watch(tcp.ours.get(), 1);
  Watch(local.ours.get(), 2, Interest::kRead);
  for (int round = 0; round < 100; ++round) {
    Send(tcp.theirs.get());
    Send(local.theirs.get());
    ASSERT_TRUE(Sees(1, Loop::kReadable));
    ASSERT_TRUE(Sees(2, Loop::kReadable));
    ASSERT_EQ((seen_[1] | seen_[2]) & Loop::kPriority, 0) << round;
    if (round % 2 == 0) Drain(tcp.ours.get());
    Forget();
  }
}

TEST_P(LoopConformanceTest, UrgentDataIsNeverMissed) {
  // A user that takes a short read for the end, but after kPriority, gets every byte. The other side's writes meet the
  // turns at all moments.
  const Ends pair = TcpPair();
  const int on = 1;
  ASSERT_EQ(::setsockopt(pair.ours.get(), SOL_SOCKET, SO_OOBINLINE, &on, sizeof on), 0);
  Watch(pair.ours.get(), 1, Interest::kRead);
  constexpr int kRounds = 2000;
  std::atomic<int64_t> received{0};
  std::thread sender([&] {
    for (int64_t round = 1; round <= kRounds; ++round) {
      EXPECT_EQ(::send(pair.theirs.get(), "1234", 4, round % 3 == 0 ? MSG_OOB : 0), 4);
      const MonotonicNanos deadline = Clock::System().Now() + kPatience;
      while (round % 8 == 0 && received.load() < 4 * round && Clock::System().Now() < deadline)
        std::this_thread::yield();
    }
  });
  char bytes[64];
  EXPECT_TRUE(TurnUntil([&] {
    const uint16_t ready = seen_[1];
    Forget();
    ssize_t got = 0;
    if ((ready & Loop::kReadable) != 0) {
      do {
        got = ::recv(pair.ours.get(), bytes, sizeof bytes, 0);
        if (got > 0) received += got;
      } while (got == sizeof bytes || (got > 0 && (ready & Loop::kPriority) != 0));
    }
    return received == 4 * kRounds;
  })) << received;
  sender.join();
}

TEST_P(LoopConformanceTest, ListenerIsReadableForEachNewConnection) {
  sockaddr_in address;
  const UniqueFd listener = Listener(&address);
  Watch(listener.get(), 1, Interest::kRead);
  EXPECT_TRUE(Quiet());
  for (int round = 0; round < 3; ++round) {
    Forget();
    const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_TRUE(Sees(1, Loop::kReadable));
    const UniqueFd accepted(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK));
    EXPECT_TRUE(accepted.valid());
    EXPECT_EQ(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK), -1);
  }
}

TEST_P(LoopConformanceTest, ConnectionThatIsRefusedIsAnError) {
  sockaddr_in address;
  Listener(&address);  // closed again: the port is free
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), -1);
  ASSERT_EQ(errno, EINPROGRESS);
  Watch(socket.get(), 1, Interest::kWrite);
  EXPECT_TRUE(Sees(1, Loop::kError | Loop::kHangUp));
  int error = 0;
  socklen_t size = sizeof error;
  ASSERT_EQ(::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size), 0);
  EXPECT_EQ(error, ECONNREFUSED);
}

TEST_P(LoopConformanceTest, ConnectionThatIsMadeIsWritable) {
  sockaddr_in address;
  const UniqueFd listener = Listener(&address);
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), -1);
  ASSERT_EQ(errno, EINPROGRESS);
  Watch(socket.get(), 1, Interest::kBoth);
  EXPECT_TRUE(TurnUntil([&] { return (seen_[1] & (Loop::kWritable | Loop::kError)) == Loop::kWritable; }));
}

TEST_P(LoopConformanceTest, DatagramsAreReported) {
  const UniqueFd ours(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(ours.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::getsockname(ours.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  Watch(ours.get(), 1, Interest::kRead);
  const UniqueFd theirs(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (int round = 0; round < 3; ++round) {
    Forget();
    ASSERT_EQ(::sendto(theirs.get(), "x", 1, 0, reinterpret_cast<sockaddr*>(&address), size), 1);
    ASSERT_TRUE(Sees(1, Loop::kReadable));
    EXPECT_EQ(Drain(ours.get()), 1);
  }
}

TEST_P(LoopConformanceTest, PipesAreReported) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  Watch(reading.get(), 1, Interest::kRead);
  const Loop::WatchId watch = Watch(writing.get(), 2, Interest::kWrite);
  EXPECT_TRUE(Sees(2, Loop::kWritable));
  ASSERT_EQ(::write(writing.get(), "x", 1), 1);
  EXPECT_TRUE(Sees(1, Loop::kReadable));
  loop_->Release(watch);
  EXPECT_TRUE(Sees(2, Loop::kReleased));
  writing.reset();
  EXPECT_TRUE(Sees(1, Loop::kHangUp));
}

TEST_P(LoopConformanceTest, WatchSaysWhatCannotBeWatched) {
  char name[] = "/tmp/loop_test_XXXXXX";
  const UniqueFd file(::mkstemp(name));
  ::unlink(name);
  const UniqueFd folder(::open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_EQ(loop_->Watch(-1, 1, Interest::kBoth), -EBADF);
  EXPECT_EQ(loop_->Watch(19999, 1, Interest::kBoth), -EBADF);
  EXPECT_EQ(loop_->Watch(file.get(), 1, Interest::kBoth), -EPERM);
  EXPECT_EQ(loop_->Watch(folder.get(), 1, Interest::kRead), -EPERM);
  EXPECT_EQ(loop_->Watch(null.get(), 1, Interest::kRead), -EPERM);
  EXPECT_EQ(loop_->watches(), 0);
  EXPECT_TRUE(Quiet());
}

}  // namespace
}  // namespace sluice::sys::testing
