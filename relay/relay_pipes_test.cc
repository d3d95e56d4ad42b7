// What sessions share: pipes, which are borrowed and go back clean or not at all, and turns.

#include <string>
#include <vector>

#include "relay/rest_buffer.h"
#include "relay/testing/loop_fixture.h"
#include "relay/transfer.h"

namespace sluice::relay::testing {
namespace {

class RelayPipesTest : public RelayLoopTest {
 protected:
  void SetUp() override {
    RelayLoopTest::SetUp();
    options_.splice.automatic = false;  // -s3
  }
};

INSTANTIATE_TEST_SUITE_P(Loops, RelayPipesTest, ::testing::ValuesIn(sys::testing::kLoopKinds),
                         sys::testing::LoopKindName<::testing::TestParamInfo<sys::testing::LoopKind>>);

TEST_P(RelayPipesTest, DirtyPipesAreNeverSeenByAnotherSession) {
  for (int round = 0; round < 30; ++round) {
    TestSession& dies = Start();
    dies.client.PauseReading(true);
    dies.upstream.Send("SECRET" + Bytes(100 + round, 9'000'000));
    harness_->Settle();  // its pipe holds a rest
    TestSession& lives = Start();
    const std::string token = Bytes(200 + round, 50'000 + round);
    lives.client.Send(token);
    if (round % 2 == 0) {
      dies.client.Reset();
    } else {
      dies.upstream.Close();
      dies.client.Close();
    }
    ASSERT_TRUE(TurnUntil([&] { return lives.upstream.received().size() == token.size(); }));
    lives.upstream.Send(token);
    ASSERT_TRUE(TurnUntil([&] { return lives.client.received().size() == token.size(); }));
    EXPECT_TRUE(lives.client.received() == token);
    EXPECT_TRUE(lives.upstream.received() == token);
    lives.client.Finish();
    lives.upstream.Finish();
    dies.upstream.Close();
    ASSERT_TRUE(harness_->AllGone());
  }
  EXPECT_GT(harness_->engine().transfer().pipes().stats().dirty_closed, 0);
}

TEST_P(RelayPipesTest, IdleSessionsHoldNoPipe) {
  std::vector<TestSession*> sessions;
  for (int i = 0; i < 40; ++i) sessions.push_back(&Start());
  for (TestSession* s : sessions) s->client.Send(Bytes(1, 300'000));
  for (TestSession* s : sessions) {
    ASSERT_TRUE(TurnUntil([&] { return s->upstream.received().size() == 300'000; }));
  }
  harness_->Settle();
  const sys::PipePool& pipes = harness_->engine().transfer().pipes();
  EXPECT_LE(pipes.idle(), sys::PipePool::kKept);
  // Four sockets a session, pipes of two ends, and what the process has anyway.
  EXPECT_LE(OpenDescriptors(), 40 * 4 + 2 * pipes.idle() + 12);
}

TEST_P(RelayPipesTest, FlowWithABlockedReaderKeepsOneAndGivesItBack) {
  TestSession& s = Start();
  s.client.PauseReading(true);
  const std::string bytes = Bytes(2, 9'000'000);
  s.upstream.Send(bytes);
  harness_->Settle();
  EXPECT_EQ(harness_->engine().transfer().pipes().idle(), 0);
  s.client.PauseReading(false);
  ASSERT_TRUE(TurnUntil([&] { return s.client.received().size() == bytes.size(); }));
  EXPECT_TRUE(s.client.received() == bytes);
  harness_->Settle();
  EXPECT_GE(harness_->engine().transfer().pipes().idle(), 1);
  EXPECT_EQ(harness_->engine().transfer().pipes().stats().dirty_closed, 0);
}

class RelayTurnTest : public RelayLoopTest {};

INSTANTIATE_TEST_SUITE_P(Loops, RelayTurnTest, ::testing::ValuesIn(sys::testing::kLoopKinds),
                         sys::testing::LoopKindName<::testing::TestParamInfo<sys::testing::LoopKind>>);

// `-b1000`: a turn gives a direction at most 16 reads for its event and 16 from the ready list, then others are served.
TEST_P(RelayTurnTest, BusySessionLeavesTheOthersTheirTurn) {
  options_.read_bytes = 1000;
  options_.splice = {.from_upstream = false, .from_client = false};
  TestSession& busy = Start({.client = SocketKind::kUnix, .upstream = SocketKind::kUnix});
  TestSession& other = Start({.client = SocketKind::kUnix, .upstream = SocketKind::kUnix});
  harness_->Settle();
  busy.upstream.Send(Bytes(1, 1'000'000));
  for (int i = 0; i < 10; ++i) {
    const int64_t before = harness_->engine().transfer().stats().copied_bytes;
    harness_->Turn();
    EXPECT_LE(harness_->engine().transfer().stats().copied_bytes - before, 2 * 17 * 1000);
  }
  EXPECT_EQ(harness_->engine().NanosToNext(harness_->now()), 0) << "it waits for its next turn, not for an edge";
  EXPECT_GT(harness_->engine().stats().budget_stops.value(), 0);
  other.client.Send("ping");
  harness_->Turn();
  harness_->Turn();
  other.upstream.Work();
  EXPECT_EQ(other.upstream.received(), "ping");
  ASSERT_TRUE(TurnUntil([&] { return busy.client.received().size() == 1'000'000; }));
  EXPECT_TRUE(busy.client.received() == Bytes(1, 1'000'000));
}

TEST_P(RelayTurnTest, SmallMessagesOfATurnAreSentTogetherAtItsEnd) {
  std::vector<TestSession*> sessions;
  for (int i = 0; i < 200; ++i) sessions.push_back(&Start());
  harness_->Settle();
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < sessions.size(); ++i) sessions[i]->client.Send(Bytes(i, 1000 + i, 4000 * round));
    for (size_t i = 0; i < sessions.size(); ++i) {
      const size_t all = (1000 + i) * (round + 1);
      ASSERT_TRUE(TurnUntil([&] { return sessions[i]->upstream.received().size() == all; }));
      EXPECT_TRUE(sessions[i]->upstream.received().substr(all - 1000 - i) == Bytes(i, 1000 + i, 4000 * round)) << i;
    }
  }
  EXPECT_GE(harness_->engine().transfer().stats().deferred, 600);
  EXPECT_EQ(harness_->engine().transfer().rest_bytes(), 0);
}

// `-b131072`: what is read lies elsewhere than what waits for the end of the turn.
TEST_P(RelayTurnTest, SmallMessageArrivesAsItWasWithALargeReadBuffer) {
  options_.read_bytes = 2 * Transfer::kReadBytes;
  TestSession& s = Start();
  for (int i = 0; i < 3; ++i) {
    s.client.Send(Bytes(1, 1000, 1000 * i));
    ASSERT_TRUE(TurnUntil([&] { return s.upstream.received().size() == 1000 * (i + 1u); }));
    s.upstream.Send(Bytes(2, 1000, 1000 * i));
    ASSERT_TRUE(TurnUntil([&] { return s.client.received().size() == 1000 * (i + 1u); }));
  }
  EXPECT_TRUE(s.upstream.received() == Bytes(1, 3000));
  EXPECT_TRUE(s.client.received() == Bytes(2, 3000));
  EXPECT_GE(harness_->engine().transfer().stats().deferred, 6);
}

// As many bytes wait as there is memory for, and then somebody sends a full buffer: it still fits behind them.
TEST_P(RelayTurnTest, LargeMessageBehindAFullTurnOfSmallOnes) {
  options_.splice = {.from_upstream = false, .from_client = false};
  constexpr int kHeader = RestBuffer::kHeaderBytes;
  constexpr int kMost = Transfer::kDeferBytes;
  std::vector<int> sizes;
  int left = Transfer::kDeferredAreaBytes - (kMost + kHeader);  // for all but the last one
  for (; left > 2 * (kMost + kHeader); left -= kMost + kHeader) sizes.push_back(kMost);
  sizes.push_back(left / 2 / 8 * 8 - kHeader);
  left -= left / 2 / 8 * 8;
  sizes.push_back(left - kHeader);
  sizes.push_back(kMost);
  std::vector<TestSession*> small;
  for (size_t i = 0; i < sizes.size(); ++i) small.push_back(&Start());
  TestSession& large = Start();
  harness_->Settle();
  for (size_t i = 0; i < sizes.size(); ++i) {
    small[i]->client.Send(Bytes(i, sizes[i]));
    small[i]->client.Work();
  }
  large.client.Send(Bytes(99, 200'000));
  ASSERT_TRUE(TurnUntil([&] { return large.upstream.received().size() == 200'000; }));
  EXPECT_TRUE(large.upstream.received() == Bytes(99, 200'000));
  for (size_t i = 0; i < sizes.size(); ++i) EXPECT_TRUE(small[i]->upstream.received() == Bytes(i, sizes[i])) << i;
}

TEST_P(RelayTurnTest, LargeMessagesDoNotWait) {
  options_.splice = {.from_upstream = false, .from_client = false};
  TestSession& s = Start();
  s.upstream.Send(Bytes(1, 60'000));
  ASSERT_TRUE(TurnUntil([&] { return s.client.received().size() == 60'000; }));
  EXPECT_LE(harness_->engine().transfer().stats().deferred, 1);  // the last piece may be a small one
}

// Its message was to leave at the end of the turn, and then the reader takes nothing: it is held like any rest.
TEST_P(RelayTurnTest, SmallMessagesToAReaderThatIsFullAreKept) {
  options_.splice = {.from_upstream = false, .from_client = false};
  TestSession& s = Start({.send_buffer_bytes = 4096});
  s.client.PauseReading(true);
  s.client.LimitReceiveBuffer(4096);
  std::string all;
  for (int i = 0; i < 2000 && harness_->engine().transfer().rest_bytes() == 0; ++i) {
    const std::string message = Bytes(7, 900, 900 * i);
    all += message;
    s.upstream.Send(message);
    harness_->Turn();
  }
  ASSERT_GT(harness_->engine().transfer().rest_bytes(), 0) << "the reader was never full";
  // Meanwhile the memory of the turn serves others.
  TestSession& other = Start();
  other.client.Send(Bytes(8, 3000));
  ASSERT_TRUE(TurnUntil([&] { return other.upstream.received() == Bytes(8, 3000); }));
  s.client.PauseReading(false);
  s.upstream.Finish();
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end(); }));
  EXPECT_TRUE(s.client.received() == all);
}

TEST_P(RelayTurnTest, SmallMessageThenTheEndInOneTurn) {
  for (int i = 0; i < 50; ++i) {
    TestSession& s = Start();
    s.client.Send("last words");
    s.client.Finish();
    s.upstream.Send("answer");
    s.upstream.Finish();
    ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end() && s.upstream.saw_end(); }));
    EXPECT_EQ(s.upstream.received(), "last words");
    EXPECT_EQ(s.client.received(), "answer");
  }
  EXPECT_TRUE(harness_->AllGone());
}

}  // namespace
}  // namespace sluice::relay::testing
