// What time does to a session: idle times, LINGER, grace delays. The clock is turned by hand.

#include <string>

#include "relay/testing/loop_fixture.h"

namespace sluice::relay::testing {
namespace {

constexpr int64_t kSecond = sys::kNanosPerSecond;
constexpr int64_t kMilli = sys::kNanosPerMilli;

class RelayTimeTest : public RelayLoopTest {};

INSTANTIATE_TEST_SUITE_P(Loops, RelayTimeTest, ::testing::ValuesIn(sys::testing::kLoopKinds),
                         sys::testing::LoopKindName<::testing::TestParamInfo<sys::testing::LoopKind>>);

TEST_P(RelayTimeTest, SilentSessionEndsAfterItsIdleTime) {
  options_.idle_nanos = 10 * kSecond;
  TestSession& s = Start();
  harness_->Settle();
  harness_->Advance(10 * kSecond - kMilli);
  EXPECT_FALSE(s.record->ended());
  harness_->Advance(2 * kMilli);
  ASSERT_TRUE(s.record->ended());
  EXPECT_EQ(s.record->code(), EndCode::kIdleTimeout);
  EXPECT_EQ(s.record->report.ended - s.record->report.started, 10 * kSecond + kMilli);
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end() && s.upstream.saw_end(); }));
  ASSERT_TRUE(harness_->AllGone());
}

TEST_P(RelayTimeTest, EachByteBeginsTheIdleTimeAnew) {
  options_.idle_nanos = 10 * kSecond;
  TestSession& s = Start();
  for (int i = 0; i < 5; ++i) {
    harness_->Advance(9 * kSecond);
    Peer& sender = i % 2 == 0 ? s.client : s.upstream;
    Peer& receiver = i % 2 == 0 ? s.upstream : s.client;
    const size_t before = receiver.received().size();
    sender.Send("x");
    ASSERT_TRUE(TurnUntil([&] { return receiver.received().size() > before; }));
  }
  EXPECT_FALSE(s.record->ended());
  harness_->Advance(11 * kSecond);
  EXPECT_TRUE(s.record->ended());
  EXPECT_EQ(s.record->code(), EndCode::kIdleTimeout);
}

TEST_P(RelayTimeTest, IdleTimeBeyondTheReachOfTheWheel) {
  options_.idle_nanos = 10 * 3600 * kSecond;
  TestSession& s = Start();
  for (int hour = 0; hour < 10; ++hour) {
    EXPECT_FALSE(s.record->ended()) << hour;
    harness_->Advance(3600 * kSecond);
  }
  harness_->Advance(kSecond);
  EXPECT_TRUE(s.record->ended());
}

TEST_P(RelayTimeTest, HalfClosedSessionHasItsOwnTime) {
  options_.half_closed_idle_nanos = 5 * kSecond;
  for (const bool by_client : {true, false}) {
    TestSession& s = Start();
    Peer& ends = by_client ? s.client : s.upstream;
    Peer& stays = by_client ? s.upstream : s.client;
    ends.Send("x");
    ends.Finish();
    ASSERT_TRUE(TurnUntil([&] { return stays.saw_end(); }));
    harness_->Advance(4 * kSecond);
    EXPECT_FALSE(s.record->ended());
    harness_->Advance(2 * kSecond);
    ASSERT_TRUE(s.record->ended());
    EXPECT_EQ(s.record->code(), EndCode::kIdleTimeout);
    ASSERT_TRUE(TurnUntil([&] { return ends.saw_either(); }));
    ASSERT_TRUE(harness_->AllGone());
  }
}

TEST_P(RelayTimeTest, HalfClosedTimeNeverLengthensTheIdleTime) {
  options_.idle_nanos = 3 * kSecond;
  options_.half_closed_idle_nanos = 100 * kSecond;
  TestSession& s = Start();
  s.client.Finish();
  ASSERT_TRUE(TurnUntil([&] { return s.upstream.saw_end(); }));
  harness_->Advance(4 * kSecond);
  EXPECT_TRUE(s.record->ended());
}

TEST_P(RelayTimeTest, ReaderThatStallsForTheIdleTimeLosesWhatIsHeld) {
  options_.idle_nanos = 10 * kSecond;
  options_.splice.automatic = false;
  TestSession& s = Start();
  s.client.PauseReading(true);
  s.upstream.Send(Bytes(1, 16'000'000));
  harness_->Settle();
  harness_->Advance(11 * kSecond);
  ASSERT_TRUE(s.record->ended());
  EXPECT_EQ(s.record->code(), EndCode::kIdleTimeout);
  EXPECT_GT(s.record->report.from_upstream.unsent_bytes, 0);
  s.client.PauseReading(false);
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_either(); }));
  EXPECT_EQ(static_cast<int64_t>(s.client.received().size()),
            s.record->report.from_upstream.bytes - s.record->report.from_upstream.unsent_bytes);
  ASSERT_TRUE(harness_->AllGone());
}

TEST_P(RelayTimeTest, PeerThatNeverEndsIsWaitedForLinger) {
  options_.half_close = false;
  options_.linger_nanos = 5 * kSecond;
  // A TCP socket counts its own FIN as unsent until that is acknowledged, which takes the kernel 40 ms of real time.
  TestSession& s = Start({.client = SocketKind::kUnix, .upstream = SocketKind::kUnix});
  s.client.Finish();
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end() && s.upstream.saw_end(); }));
  harness_->Advance(4 * kSecond);
  EXPECT_FALSE(s.record->ended());
  harness_->Advance(2 * kSecond);
  ASSERT_TRUE(s.record->ended());
  EXPECT_EQ(s.record->code(), EndCode::kFinished);
  ASSERT_TRUE(harness_->AllGone());
}

TEST_P(RelayTimeTest, TailThatNobodyTakesIsGivenUpAfterLinger) {
  options_.half_close = false;
  options_.linger_nanos = 5 * kSecond;
  TestSession& s = Start({.send_buffer_bytes = 2'000'000});
  s.upstream.PauseReading(true);
  s.upstream.LimitReceiveBuffer(65'536);
  s.client.Send(Bytes(2, 1'000'000));
  s.client.Finish();
  harness_->Settle();
  EXPECT_FALSE(s.record->ended());
  // Some of it is taken, late: the time begins anew.
  harness_->Advance(4 * kSecond);
  s.upstream.Take(200'000);
  harness_->Settle();
  harness_->Advance(2 * kSecond);
  EXPECT_FALSE(s.record->ended());
  harness_->Advance(11 * kSecond);
  harness_->Advance(11 * kSecond);
  ASSERT_TRUE(s.record->ended());
  EXPECT_EQ(s.record->code(), EndCode::kUnsentData);
  s.upstream.Close();
  ASSERT_TRUE(harness_->AllGone());
}

// Under -C the client's end cuts the answer: what is held at that moment is the tail.
TEST_P(RelayTimeTest, HeldTailUnderCMovesOrIsGivenUp) {
  options_.half_close = false;
  options_.linger_nanos = 5 * kSecond;
  options_.idle_nanos = 1000 * kSecond;
  options_.splice.automatic = false;
  for (const bool moves : {true, false}) {
    TestSession& s = Start({.send_buffer_bytes = 65'536});
    s.client.PauseReading(true);
    s.client.LimitReceiveBuffer(65'536);
    s.upstream.Send(Bytes(3, 8'000'000));
    harness_->Settle();
    s.client.Finish();
    harness_->Settle();
    EXPECT_FALSE(s.record->ended());
    for (int i = 0; i < 2 && moves; ++i) {
      harness_->Advance(4 * kSecond);
      ASSERT_FALSE(s.record->ended()) << "it moves, however slowly";
      s.client.Take(1'000'000);  // what has arrived; less moves no window of the loopback's size
      harness_->Settle();
    }
    if (!moves) {
      harness_->Advance(4 * kSecond);
      EXPECT_FALSE(s.record->ended());
      harness_->Advance(2 * kSecond);
      ASSERT_TRUE(s.record->ended());
      EXPECT_EQ(s.record->code(), EndCode::kUnsentData);
      EXPECT_GT(s.record->report.from_upstream.unsent_bytes, 0);
    }
    s.client.PauseReading(false);
    ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end(); }));
    const FlowReport& down = s.record->report.from_upstream;
    s.upstream.Close();
    ASSERT_TRUE(harness_->AllGone());
    EXPECT_EQ(static_cast<int64_t>(s.client.received().size()), down.bytes - down.unsent_bytes);
    EXPECT_TRUE(s.client.received() == Bytes(3, down.bytes - down.unsent_bytes));
    if (moves) {
      EXPECT_EQ(s.record->code(), EndCode::kFinished);
    }
  }
}

TEST_P(RelayTimeTest, ResetThatWaitsForTheTailComesAfterLinger) {
  options_.linger_nanos = 5 * kSecond;
  TestSession& s = Start({.send_buffer_bytes = 1'000'000});
  s.client.PauseReading(true);
  s.client.LimitReceiveBuffer(8192);
  s.upstream.Send(Bytes(5, 400'000));
  harness_->Settle();
  s.upstream.Reset();
  harness_->Settle();
  EXPECT_FALSE(s.record->ended()) << "the client has not taken the tail";
  for (int i = 0; i < 600 && !s.record->ended(); ++i) harness_->Advance(20 * kMilli);
  ASSERT_TRUE(s.record->ended());
  EXPECT_EQ(s.record->code(), EndCode::kReadFailed);
  s.client.PauseReading(false);
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_either(); }));
  EXPECT_TRUE(s.client.saw_reset());
  ASSERT_TRUE(harness_->AllGone());
}

// `-g8000,2,5`: from the second small read on, each next one waits 5 ms, and takes what has come meanwhile at once.
TEST_P(RelayTimeTest, GraceDelayHoldsTheNextReadBack) {
  options_.grace = {.traffic_bytes = 8000, .reads = 2, .delay_millis = 5};
  TestSession& s = Start();
  const auto received = [&] { return s.client.received().size(); };
  s.upstream.Send("1");
  ASSERT_TRUE(TurnUntil([&] { return received() == 1; }));
  s.upstream.Send("2");
  harness_->Settle();
  ASSERT_EQ(received(), 2u);
  s.upstream.Send("3");
  harness_->Settle();
  s.upstream.Send("4");
  harness_->Settle();
  EXPECT_EQ(received(), 2u) << "the delay runs";
  EXPECT_LE(harness_->engine().NanosToNext(harness_->now()), 6 * kMilli);
  EXPECT_GE(harness_->engine().NanosToNext(harness_->now()), 5 * kMilli - kMilli);
  harness_->Advance(4 * kMilli);
  harness_->Settle();
  EXPECT_EQ(received(), 2u) << "never early";
  harness_->Advance(2 * kMilli);
  harness_->Settle();
  EXPECT_EQ(received(), 4u) << "both at once";
  // The dialogue's answer restarts the counts.
  harness_->Advance(6 * kMilli);
  s.client.Send("?");
  ASSERT_TRUE(TurnUntil([&] { return s.upstream.received() == "?"; }));
  s.upstream.Send("5");
  harness_->Settle();
  EXPECT_EQ(received(), 5u) << "the first read after the other direction's does not wait";
}

TEST_P(RelayTimeTest, ReadAfterAGraceDelayTakesOneSmallBuffer) {
  options_.splice = {.from_upstream = false, .from_client = false};
  options_.grace = {.traffic_bytes = 1'000'000, .reads = 1, .delay_millis = 3};
  TestSession& s = Start();
  s.upstream.Send(Bytes(6, 500'000));
  harness_->Settle();
  size_t before = s.client.received().size();
  EXPECT_LE(before, 65'536u);
  for (int i = 0; i < 5; ++i) {
    harness_->Advance(4 * kMilli);
    harness_->Settle();
    EXPECT_EQ(s.client.received().size() - before, 16'384u);
    before = s.client.received().size();
  }
}

TEST_P(RelayTimeTest, EndIsSeenAfterAGraceDelayAndByABrokenLegAtOnce) {
  options_.grace = {.traffic_bytes = 8000, .reads = 1, .delay_millis = 50};
  TestSession& s = Start();
  s.upstream.Send("x");
  s.upstream.Finish();
  harness_->Settle();
  EXPECT_FALSE(s.client.saw_end());
  harness_->Advance(51 * kMilli);
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end(); }));
  s.client.Finish();
  ASSERT_TRUE(harness_->AllGone());

  TestSession& broken = Start();
  broken.upstream.Send("y");
  harness_->Settle();
  broken.client.Reset();
  ASSERT_TRUE(TurnUntil([&] { return broken.record->ended(); }));
  ASSERT_TRUE(harness_->AllGone());
}

}  // namespace
}  // namespace sluice::relay::testing
