// The part of the conformance test about Release(), the reuse of descriptors' numbers, and many watches at once.

#include <sys/resource.h>

#include <random>
#include <set>
#include <vector>

#include "sys/loop/testing/conformance.h"

namespace sluice::sys::testing {
namespace {

// Descriptors for the cases with thousands of them: the soft limit is often 1024.
void RaiseDescriptorLimit() {
  rlimit limit;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
}

UniqueFd EventFd(unsigned initial = 0) { return UniqueFd(::eventfd(initial, EFD_NONBLOCK | EFD_CLOEXEC)); }

void Signal(int event_fd) {
  const uint64_t one = 1;
  ASSERT_EQ(::write(event_fd, &one, sizeof one), static_cast<ssize_t>(sizeof one));
}

TEST_P(LoopConformanceTest, ReleaseGivesExactlyOneReleased) {
  const Ends pair = UnixPair();
  const Loop::WatchId watch = Watch(pair.ours.get(), 1);
  EXPECT_TRUE(Sees(1, Loop::kWritable));
  loop_->Release(watch);
  Forget();
  EXPECT_EQ(Turn(-1), 1) << "does not wait for anything else";
  EXPECT_EQ(seen_[1], Loop::kReleased);
  EXPECT_EQ(loop_->watches(), 0);
  Send(pair.theirs.get());
  EXPECT_TRUE(Quiet());
  EXPECT_EQ(released_[1], 1);
}

TEST_P(LoopConformanceTest, ReleaseBeforeTheFirstTurn) {
  const Ends pair = UnixPair();
  loop_->Release(Watch(pair.ours.get(), 1));
  EXPECT_TRUE(Sees(1, Loop::kReleased));
  EXPECT_EQ(seen_[1], Loop::kReleased);
  EXPECT_TRUE(Quiet());
}

TEST_P(LoopConformanceTest, ReleaseComesWithinTwoTurnsAndAlone) {
  // Bytes keep coming while the watch is released: a poll that has just been woken must go away all the same.
  for (int round = 0; round < 200; ++round) {
    const Ends pair = UnixPair();
    const Loop::WatchId watch = Watch(pair.ours.get(), 1);
    Turn(0);
    Send(pair.theirs.get());
    if (round % 2 == 1) Turn(0);
    loop_->Release(watch);
    Send(pair.theirs.get());
    Forget();
    Turn(0);
    Send(pair.theirs.get());
    Turn(0);
    ASSERT_EQ(seen_[1], Loop::kReleased) << round;
  }
  EXPECT_EQ(released_[1], 200);
}

TEST_P(LoopConformanceTest, EndIsSentOnceClosedAfterReleased) {
  // While a ring held the descriptor, close() would end nothing.
  for (int round = 0; round < 20; ++round) {
    Ends pair = TcpPair();
    const Loop::WatchId watch = Watch(pair.ours.get(), 1);
    Turn(0);
    if (round % 2 == 0) {
      loop_->Release(watch);
    } else {
      loop_->ReleaseToClose(watch);
    }
    Forget();
    ASSERT_TRUE(Sees(1, Loop::kReleased));
    pair.ours.reset();
    ASSERT_EQ(::fcntl(pair.theirs.get(), F_SETFL, 0), 0);
    const timeval patience{20, 0};
    ASSERT_EQ(::setsockopt(pair.theirs.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    char byte;
    ASSERT_EQ(::recv(pair.theirs.get(), &byte, 1, 0), 0) << errno;
  }
}

TEST_P(LoopConformanceTest, DestroyedWithWatchesLeavesNoDescriptorHeld) {
  std::vector<Ends> pairs;
  for (int i = 0; i < 300; ++i) {
    pairs.push_back(TcpPair());
    Watch(pairs.back().ours.get(), i);
    if (i == 150) Turn(0);
  }
  loop_.reset();
  for (Ends& pair : pairs) {
    pair.ours.reset();
    ASSERT_EQ(::fcntl(pair.theirs.get(), F_SETFL, 0), 0);
    const timeval patience{20, 0};
    ASSERT_EQ(::setsockopt(pair.theirs.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    char byte;
    ASSERT_EQ(::recv(pair.theirs.get(), &byte, 1, 0), 0) << errno;
  }
}

TEST_P(LoopConformanceTest, ReusedNumberGetsNoOldEvents) {
  for (Token token = 1; token <= 500; ++token) {
    Ends pair = UnixPair();
    const int number = pair.ours.get();
    Send(pair.theirs.get());
    const Loop::WatchId old_watch = Watch(number, 2 * token);
    if (token % 3 == 0) Turn(0);
    Send(pair.theirs.get());
    if (token % 2 == 0) {
      loop_->Release(old_watch);
    } else {
      loop_->ReleaseToClose(old_watch);
      Send(pair.theirs.get());  // of no interest to anybody
    }
    ASSERT_TRUE(Sees(2 * token, Loop::kReleased));
    Forget();
    pair.ours.reset();
    pair.theirs.reset();
    Ends next = UnixPair();
    ASSERT_EQ(next.ours.get(), number) << "the kernel gives the lowest number";
    const Loop::WatchId watch = Watch(number, 2 * token + 1, Interest::kRead);
    Turn(0);
    ASSERT_EQ(seen_.size(), 0u) << "an event of the old watch";
    Send(next.theirs.get());
    ASSERT_TRUE(Sees(2 * token + 1, Loop::kReadable));
    loop_->Release(watch);
    ASSERT_TRUE(Sees(2 * token + 1, Loop::kReleased));
    ASSERT_EQ(seen_.size(), 1u);
    Forget();
  }
  EXPECT_EQ(loop_->watches(), 0);
}

TEST_P(LoopConformanceTest, WatchWhileEventsAreHandled) {
  std::vector<Ends> pairs;
  pairs.push_back(UnixPair());
  Watch(pairs[0].ours.get(), 0, Interest::kWrite);
  std::set<Token> writable;
  const MonotonicNanos deadline = Clock::System().Now() + kPatience;
  while (writable.size() < 1000 && Clock::System().Now() < deadline) {
    const absl::Span<const Loop::Event> events = loop_->Turn(kNanosPerSecond);
    for (const Loop::Event& event : events) {
      EXPECT_TRUE(event.ready & Loop::kWritable);
      // A ring whose queue overflows arms anew, which reports the state once more; nothing else does.
      EXPECT_TRUE(writable.insert(event.token).second || GetParam() == LoopKind::kSmallUring) << event.token;
      // Each brings two more.
      for (int i = 0; i < 2 && pairs.size() < 1000; ++i) {
        const Token token = pairs.size();
        pairs.push_back(UnixPair());
        Watch(pairs.back().ours.get(), token, Interest::kWrite);
      }
    }
  }
  EXPECT_EQ(writable.size(), 1000u);
}

TEST_P(LoopConformanceTest, ThousandsAtOnceAndNothingIsLost) {
  // More than a turn returns, more than a completion queue takes; some of them readable from the start.
  RaiseDescriptorLimit();
  constexpr int kMany = 5000;
  std::vector<UniqueFd> fds;
  for (int i = 0; i < kMany; ++i) {
    fds.push_back(EventFd(i % 2));
    ASSERT_TRUE(fds.back().valid());
    Watch(fds.back().get(), i, Interest::kRead);
  }
  EXPECT_TRUE(TurnUntil([&] { return seen_.size() >= kMany / 2; }));
  for (int round = 0; round < 3; ++round) {
    Forget();
    for (const UniqueFd& fd : fds) Signal(fd.get());
    EXPECT_TRUE(TurnUntil([&] { return seen_.size() == kMany; })) << round << ": " << seen_.size();
  }
  EXPECT_EQ(loop_->watches(), kMany);
  Forget();
  for (int i = 0; i < kMany; ++i) loop_->Release(i);
  for (const UniqueFd& fd : fds) Signal(fd.get());
  EXPECT_TRUE(TurnUntil([&] { return loop_->watches() == 0; }));
  EXPECT_EQ(released_.size(), static_cast<size_t>(kMany));
  for (const auto& [token, bits] : seen_) ASSERT_EQ(bits, Loop::kReleased) << token;
  EXPECT_TRUE(Quiet());
  if (GetParam() == LoopKind::kSmallUring) {
    EXPECT_GT(loop_->stats().rearmed, 0) << "the queue was meant to overflow";
  }
}

// Random watches, writes, reads and releases against a model of what each descriptor has to report.
TEST_P(LoopConformanceTest, ChurnAgreesWithAModel) {
  struct Connection {
    Ends ends;
    Loop::WatchId watch;
    bool unread = false;    // bytes that no event has told of yet
    bool released = false;  // Release() was called
  };
  std::mt19937 random(20240229);
  std::map<Token, Connection> connections;
  Token next = 1;
  const auto take = [&](const Loop::Event& event) {
    const auto found = connections.find(event.token);
    ASSERT_NE(found, connections.end()) << "an event for a watch that is gone";
    if (event.ready & Loop::kReleased) {
      ASSERT_TRUE(found->second.released);
      connections.erase(found);
      return;
    }
    ASSERT_FALSE(found->second.released);
    if (event.ready & Loop::kReadable) {
      found->second.unread = false;
      Drain(found->second.ends.ours.get());
    }
  };
  for (int step = 0; step < 20'000 && !HasFatalFailure(); ++step) {
    const unsigned action = random() % 16;
    auto picked = connections.lower_bound(next > 64 ? next - random() % 64 : 0);
    if (action == 0 || picked == connections.end()) {
      Connection& made = connections[next];
      made.ends = UnixPair();
      made.watch = Watch(made.ends.ours.get(), next, Interest::kRead);
      ++next;
    } else if (action == 1 && !picked->second.released) {
      picked->second.released = true;
      picked->second.unread = false;
      loop_->Release(picked->second.watch);
    } else if (action < 12 && !picked->second.released) {
      Send(picked->second.ends.theirs.get());
      picked->second.unread = true;
    } else {
      for (const Loop::Event& event : loop_->Turn(0)) take(event);
    }
  }
  for (auto& [token, connection] : connections) {
    if (connection.unread) continue;
    if (!connection.released) loop_->Release(connection.watch);
    connection.released = true;
  }
  const MonotonicNanos deadline = Clock::System().Now() + kPatience;
  const auto pending = [&] {
    for (const auto& [token, connection] : connections) {
      if (connection.released || connection.unread) return true;
    }
    return false;
  };
  while (pending() && !HasFatalFailure()) {
    ASSERT_LT(Clock::System().Now(), deadline) << "bytes or a release were never reported";
    for (const Loop::Event& event : loop_->Turn(100 * kNanosPerMilli)) take(event);
  }
}

// More descriptors than any queue of the loop has room for, all of them with something to report: told once, then
// silent.
TEST_P(LoopConformanceTest, FarMoreWatchesThanTheQueuesHoldComeToRest) {
  RaiseDescriptorLimit();
  constexpr int kPairs = 1500;
  std::vector<Ends> pairs;
  for (int i = 0; i < kPairs; ++i) {
    pairs.push_back(UnixPair());
    Watch(pairs.back().ours.get(), i);
  }
  const auto all = [&](uint16_t bit) {
    return TurnUntil([&] {
      for (int i = 0; i < kPairs; ++i) {
        if ((seen_[i] & bit) == 0) return false;
      }
      return true;
    });
  };
  ASSERT_TRUE(all(Loop::kWritable));
  int quiet = 0;
  ASSERT_TRUE(TurnUntil([&] {
    quiet = Turn(kNanosPerMilli) == 0 ? quiet + 1 : 0;
    return quiet == 3;
  })) << "it goes on reporting what has not changed";
  for (int round = 0; round < 2; ++round) {
    Forget();
    for (const Ends& pair : pairs) Send(pair.theirs.get());
    ASSERT_TRUE(all(Loop::kReadable)) << round;
    for (const Ends& pair : pairs) Drain(pair.ours.get());
  }
}

}  // namespace
}  // namespace sluice::sys::testing
