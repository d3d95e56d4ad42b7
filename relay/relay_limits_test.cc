// Bandwidths and counters under real sessions: the same on each loop, data path and kind of socket. The clock is turned
// by hand.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "relay/testing/line_framer.h"
#include "relay/testing/relay_matrix.h"

namespace sluice::relay::testing {
namespace {

constexpr int64_t kSecond = sys::kNanosPerSecond;
constexpr int64_t kMilli = sys::kNanosPerMilli;

class RelayLimitsTest : public RelayMatrixTest {
 protected:
  StartArgs Limited(std::function<void(SessionLimits&)> limits) {
    StartArgs args;
    args.limits = std::move(limits);
    return args;
  }
  // So much of the engine's time, without waiting for the machine's.
  void RunFor(int64_t nanos) {
    for (const int64_t end = harness_->now() + nanos; harness_->now() < end;) {
      harness_->Advance(kMilli);
      harness_->Turn(0);
    }
  }
  // Both far ends go, whatever is under way.
  static void Leave(TestSession& session) {
    session.client.Close();
    session.upstream.Close();
  }
  static int64_t Received(const Peer& peer) { return static_cast<int64_t>(peer.received().size()); }
};

INSTANTIATE_TEST_SUITE_P(
    All, RelayLimitsTest,
    ::testing::Combine(::testing::Values(sys::testing::LoopKind::kEpoll, sys::testing::LoopKind::kUring),
                       ::testing::ValuesIn(kPaths), ::testing::Values(SocketKind::kIpv4, SocketKind::kUnix)),
    MatrixName);

TEST_P(RelayLimitsTest, BandwidthHoldsWithinThreePercentOverTenSeconds) {
  const auto down = std::make_shared<RateLimiter>(8'000'000);
  const auto up = std::make_shared<RateLimiter>(4'000'000);
  TestSession& s = Start(Limited([&](SessionLimits& limits) {
    limits.from_upstream.Add(down);
    limits.from_client.Add(up);
  }));
  s.upstream.Send(Bytes(1, 12'000'000));
  s.client.Send(Bytes(2, 6'000'000));
  RunFor(10 * kSecond);
  EXPECT_NEAR(static_cast<double>(Received(s.client)), 1e7, 3e5);
  EXPECT_NEAR(static_cast<double>(Received(s.upstream)), 5e6, 15e4);
  EXPECT_TRUE(s.client.received() == Bytes(1, Received(s.client)));
  Leave(s);
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_NE(s.record->report.from_upstream.path, DataPath::kNone);
}

TEST_P(RelayLimitsTest, SessionsOfOneRuleShareIt) {
  const auto shared = std::make_shared<RateLimiter>(16'000'000);
  std::vector<TestSession*> sessions;
  for (int i = 0; i < 6; ++i) {
    sessions.push_back(&Start(Limited([&](SessionLimits& limits) { limits.from_upstream.Add(shared); })));
    sessions.back()->upstream.Send(Bytes(i, 2'000'000));
  }
  TestSession& free = Start();
  free.upstream.Send(Bytes(7, 5'000'000));
  const int64_t begun = harness_->now();
  ASSERT_TRUE(TurnUntil([&] { return Received(free.client) == 5'000'000; }));
  EXPECT_LT(harness_->now() - begun, kSecond) << "whom no rule concerns is not slowed";
  RunFor(begun + 3 * kSecond - harness_->now());
  int64_t sum = 0, least = 2'000'000, most = 0;
  for (const TestSession* s : sessions) {
    sum += Received(s->client);
    least = std::min(least, Received(s->client));
    most = std::max(most, Received(s->client));
  }
  EXPECT_NEAR(static_cast<double>(sum), 6e6, 6e5);
  EXPECT_GT(least * 2, most);
  for (TestSession* s : sessions) Leave(*s);
  Leave(free);
  ASSERT_TRUE(harness_->AllGone());
}

TEST_P(RelayLimitsTest, NothingIsLostOrDoubledAndTheEndFollowsTheLastByte) {
  TestSession& s = Start(Limited([&](SessionLimits& limits) {
    limits.from_upstream.Add(std::make_shared<RateLimiter>(8'000'000));
    limits.from_client.Add(std::make_shared<RateLimiter>(8'000'000));
  }));
  const std::string down = Bytes(3, 1'000'001), up = Bytes(4, 777'777);
  s.upstream.Send(down);
  s.upstream.Finish();
  s.client.Send(up);
  s.client.Finish();
  RunFor(1500 * kMilli);
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end() && s.upstream.saw_end(); }));
  EXPECT_TRUE(s.client.received() == down);
  EXPECT_TRUE(s.upstream.received() == up);
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->code(), EndCode::kFinished);
}

TEST_P(RelayLimitsTest, WaitingForItsTurnIsNotBeingIdle) {
  options_.idle_nanos = 2 * kSecond;
  TestSession& s = Start(Limited([&](SessionLimits& limits) {
    limits.from_upstream.Add(std::make_shared<RateLimiter>(300));
    limits.from_upstream.Charge(16'384 + 200, harness_->now());
  }));
  s.upstream.Send(Bytes(5, 100));
  RunFor(4 * kSecond);
  EXPECT_FALSE(s.record->ended());
  EXPECT_EQ(Received(s.client), 0);
  RunFor(6 * kSecond);
  EXPECT_GT(Received(s.client), 50);
  s.client.Finish();
  s.upstream.Finish();
  ASSERT_TRUE(harness_->AllGone());
}

TEST_P(RelayLimitsTest, CounterEndsTheSessionInMidStream) {
  const auto counter = std::make_shared<ByteCounter>(1'000'000);
  const auto count_both = [&](SessionLimits& limits) {
    limits.from_upstream.Add(counter);
    limits.from_client.Add(counter);
  };
  TestSession& s = Start(Limited(count_both));
  TestSession& other = Start(Limited(count_both));
  other.client.Send("x");
  ASSERT_TRUE(TurnUntil([&] { return Received(other.upstream) == 1; }));
  s.upstream.Send(Bytes(6, 3'000'000));
  ASSERT_TRUE(TurnUntil([&] { return s.record->ended(); }));
  EXPECT_EQ(s.record->code(), EndCode::kLimitReached);
  EXPECT_EQ(s.record->report.from_upstream.bytes, 999'999);
  EXPECT_EQ(counter->bytes(), 1'000'000);
  EXPECT_FALSE(other.record->ended()) << "as long as it moves nothing";
  other.client.Send("y");
  ASSERT_TRUE(TurnUntil([&] { return other.record->ended(); }));
  EXPECT_EQ(other.record->code(), EndCode::kLimitReached);
  ASSERT_TRUE(harness_->AllGone());
}

TEST_P(RelayLimitsTest, FramedSessionsAreLimitedAndCountedAlike) {
  const auto counter = std::make_shared<ByteCounter>();
  RelayOptions tunnel;
  LineFramer::Log log;
  StartArgs args = Limited([&](SessionLimits& limits) {
    limits.from_upstream.Add(std::make_shared<RateLimiter>(8'000'000));
    limits.from_upstream.Add(counter);
  });
  args.client = args.upstream = kind();
  TestSession& s = harness_->Start(args, &options_, std::make_unique<LineFramer>(&log, &tunnel));
  s.client.Send("0\n");
  ASSERT_TRUE(TurnUntil([&] { return Received(s.upstream) > 0; }));
  const std::string answer = absl::StrCat("12000000\n", Bytes(8, 12'000'000));
  s.upstream.Send(answer);
  RunFor(10 * kSecond);
  EXPECT_NEAR(static_cast<double>(Received(s.client)), 1e7, 3e5);
  RunFor(3 * kSecond);
  EXPECT_TRUE(s.client.received() == "D" + answer);
  EXPECT_EQ(counter->bytes(), static_cast<int64_t>(answer.size()));
  s.client.Finish();
  ASSERT_TRUE(harness_->AllGone());
}

TEST_P(RelayLimitsTest, WhatASessionHeldIsFreeWhenItEnds) {
  const auto place = std::make_shared<int>(0);
  TestSession& s = Start(Limited([&](SessionLimits& limits) { limits.held.push_back(place); }));
  EXPECT_EQ(place.use_count(), 2);
  Leave(s);
  ASSERT_TRUE(TurnUntil([&] { return s.record->ended(); }));
  EXPECT_EQ(place.use_count(), 1);
  ASSERT_TRUE(harness_->AllGone());
}

}  // namespace
}  // namespace sluice::relay::testing
