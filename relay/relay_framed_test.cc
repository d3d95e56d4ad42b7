// Sessions with a framer: message after message, and the ways out.

#include <sys/socket.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "relay/testing/line_framer.h"
#include "relay/testing/relay_matrix.h"

namespace sluice::relay::testing {
namespace {

constexpr int64_t kSecond = sys::kNanosPerSecond;

class FramedTest : public RelayMatrixTest {
 protected:
  TestSession& StartFramed(StartArgs args = {}) {
    args.client = args.upstream = kind();
    return harness_->Start(args, &options_, std::make_unique<LineFramer>(&log_, &tunnel_options_));
  }
  static std::string Message(const std::string& body, const char* sign = "") {
    return absl::StrCat(body.size(), sign, "\n", body);
  }
  ::testing::AssertionResult Arrives(const Peer& peer, const std::string& all) {
    return TurnUntil([&] { return peer.received().size() >= all.size() && peer.received() == all; });
  }
  // The first request has gone on (an answer that comes before it is none).
  ::testing::AssertionResult Asked(const TestSession& s) {
    return TurnUntil([&] { return s.upstream.received().size() >= 3; });
  }
  // Nothing is left of a session whose client has left it.
  ::testing::AssertionResult Left() {
    return TurnUntil([&] { return harness_->engine().running() == 0 && harness_->loop().watches() == 0; });
  }

  RelayOptions tunnel_options_;
  LineFramer::Log log_;
};

INSTANTIATE_TEST_SUITE_P(All, FramedTest,
                         ::testing::Combine(::testing::Values(sys::testing::LoopKind::kEpoll,
                                                              sys::testing::LoopKind::kUring),
                                            ::testing::ValuesIn(kPaths), ::testing::ValuesIn(kSocketKinds)),
                         MatrixName);

TEST_P(FramedTest, OneExchangeAfterTheOther) {
  TestSession& s = StartFramed();
  std::string up, down;
  for (const int size : {0, 1, 5'000, 300'000, 0, 70'000}) {
    const std::string question = Bytes(50, size), answer = Bytes(51, 2 * size);
    s.client.Send(Message(question));
    up += "U" + Message(question);
    ASSERT_TRUE(Arrives(s.upstream, up)) << size;
    s.upstream.Send(Message(answer));
    down += "D" + Message(answer);
    ASSERT_TRUE(Arrives(s.client, down)) << size;
  }
  s.client.Finish();
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end(); }));
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->code(), EndCode::kFinished);
  EXPECT_EQ(log_.freed.size(), 1u) << "the upstream may serve somebody else";
}

TEST_P(FramedTest, RequestsInARowWaitForTheirAnswers) {
  TestSession& s = StartFramed();
  s.client.Send("3\none7");  // the line of the next one is not whole
  ASSERT_TRUE(Arrives(s.upstream, "U3\none"));
  s.upstream.Send("1\n1");
  ASSERT_TRUE(Arrives(s.client, "D1\n1"));
}

TEST_P(FramedTest, PipelinedRequestsGoOneByOne) {
  TestSession& s = StartFramed();
  s.client.Send("3\none3\ntwo0\n4\nfour");
  ASSERT_TRUE(Arrives(s.upstream, "U3\none"));
  harness_->Settle();
  EXPECT_EQ(s.upstream.received(), "U3\none") << "the next one only after the answer";
  s.upstream.Send("1\n1");
  ASSERT_TRUE(Arrives(s.upstream, "U3\noneU3\ntwo"));
  s.upstream.Send("1\n2");
  ASSERT_TRUE(Arrives(s.upstream, "U3\noneU3\ntwoU0\n"));
  s.upstream.Send("0\n");
  ASSERT_TRUE(Arrives(s.upstream, "U3\noneU3\ntwoU0\nU4\nfour"));
  s.upstream.Send("1\n4");
  ASSERT_TRUE(Arrives(s.client, "D1\n1D1\n2D0\nD1\n4"));
}

TEST_P(FramedTest, ClientThatAsksAndIsGoneAtOnceLeavesNothingBehind) {
  for (int i = 0; i < 60; ++i) {
    TestSession& s = StartFramed();
    s.client.Send("0\n");
    s.client.Work();
    if (i % 2 == 0) s.client.Reset();
    harness_->Turn();
    s.client.Close();
    harness_->Turn();
    EXPECT_EQ(harness_->engine().transfer().lent_bytes(), 0);
    s.upstream.Close();
  }
  ASSERT_TRUE(harness_->AllGone());
}

TEST_P(FramedTest, BigAnswerToASlowClientThenTheNextRequest) {
  TestSession& s = StartFramed({.send_buffer_bytes = 65'536});
  s.client.PauseReading(true);
  s.client.Send("0\n0\n");
  ASSERT_TRUE(Asked(s));
  const std::string answer = Bytes(52, 4'000'000);
  s.upstream.Send(Message(answer));
  harness_->Settle();
  EXPECT_EQ(s.upstream.received(), "U0\n");
  s.client.PauseReading(false);
  ASSERT_TRUE(Arrives(s.client, "D" + Message(answer)));
  ASSERT_TRUE(Arrives(s.upstream, "U0\nU0\n"));
}

TEST_P(FramedTest, LastAnswerIsFollowedByTheEnd) {
  TestSession& s = StartFramed();
  s.client.Send("0\n");
  ASSERT_TRUE(Asked(s));
  s.upstream.Send(Message(Bytes(53, 500'000), "C"));
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end(); }));
  EXPECT_TRUE(s.client.received() == "D" + Message(Bytes(53, 500'000), "C"));
  s.client.Finish();
  ASSERT_TRUE(harness_->AllGone());
}

TEST_P(FramedTest, AnswerThatIsCutEndsInAReset) {
  TestSession& s = StartFramed();
  s.client.Send("0\n0\n");
  ASSERT_TRUE(Asked(s));
  s.upstream.Send("1000\nonly this");
  ASSERT_TRUE(Arrives(s.client, "D1000\nonly this"));
  s.upstream.Finish();
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_either(); }));
  if (is_tcp()) {
    EXPECT_TRUE(s.client.saw_reset()) << "a cut answer looks whole";
  }
  s.client.Close();
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->code(), EndCode::kReadFailed);
  EXPECT_EQ(s.record->report.reason.side, EndSide::kUpstream);
}

TEST_P(FramedTest, RequestThatIsCutEndsInAReset) {
  for (const bool by_reset : {true, false}) {
    TestSession& s = StartFramed();
    s.client.Send("1000\nonly this");
    ASSERT_TRUE(Arrives(s.upstream, "U1000\nonly this"));
    if (by_reset) {
      s.client.Reset();
    } else {
      s.client.Finish();
    }
    ASSERT_TRUE(TurnUntil([&] { return s.upstream.saw_either(); }));
    if (is_tcp()) {
      EXPECT_TRUE(s.upstream.saw_reset()) << "a cut request looks whole";
    }
    s.client.Close();
    s.upstream.Close();
    ASSERT_TRUE(harness_->AllGone()) << by_reset;
    EXPECT_EQ(s.record->report.reason.side, EndSide::kClient);
  }
}

TEST_P(FramedTest, UpstreamThatGoesWithoutAnAnswerIsAnsweredFor) {
  for (const bool by_reset : {true, false}) {
    TestSession& s = StartFramed();
    s.client.Send("0\n");
    ASSERT_TRUE(Arrives(s.upstream, "U0\n"));
    if (by_reset) {
      s.upstream.Reset();
    } else {
      s.upstream.Finish();
    }
    ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end(); })) << by_reset;
    EXPECT_EQ(s.client.received(), "gone\n");
    s.client.Finish();
    ASSERT_TRUE(harness_->AllGone());
  }
}

TEST_P(FramedTest, ClientLeavesWithAllThatItSent) {
  TestSession& s = StartFramed();
  s.client.Send("0\n");
  ASSERT_TRUE(Asked(s));
  s.upstream.Send(Message(Bytes(54, 100'000), "R"));
  ASSERT_TRUE(Arrives(s.client, "D" + Message(Bytes(54, 100'000), "R")));
  ASSERT_TRUE(Left());
  ASSERT_EQ(log_.returned.size(), 1u);
  EXPECT_EQ(log_.freed.size(), 1u);
  EXPECT_EQ(s.record->ends, 0) << "it goes on elsewhere";
  // Its descriptor is nobody else's now, and works.
  s.client.Send("next");
  Peer relay_side(std::move(log_.returned[0].client));
  ASSERT_TRUE(TurnUntil([&] {
    relay_side.Work();
    return relay_side.received() == "next";
  }));
}

TEST_P(FramedTest, IdleUpstreamThatGoesSendsTheClientBack) {
  for (const bool by_reset : {true, false}) {
    TestSession& s = StartFramed();
    s.client.Send("0\n");
    ASSERT_TRUE(Asked(s));
    s.upstream.Send("0\n");
    ASSERT_TRUE(Arrives(s.client, "D0\n"));
    harness_->Settle();
    if (by_reset) {
      s.upstream.Reset();
    } else {
      s.upstream.Close();
    }
    ASSERT_TRUE(Left()) << by_reset;
    EXPECT_EQ(log_.returned.size(), 1u);
    EXPECT_TRUE(log_.freed.empty());
    log_.returned.clear();
    EXPECT_TRUE(s.record->destroyed);
  }
}

// A client that is to leave and waits for its last bytes, and whose session ends otherwise, does not leave as well.
TEST_P(FramedTest, SessionThatEndsWhileTheClientIsLeavingEndsOnce) {
  for (const bool by_shutdown : {true, false}) {
    TestSession& s = StartFramed({.send_buffer_bytes = 65'536});
    s.client.PauseReading(true);
    s.client.LimitReceiveBuffer(65'536);
    s.client.Send("0\n");
    ASSERT_TRUE(Asked(s));
    s.upstream.Send(Message(Bytes(55, 600'000), "R"));
    harness_->Settle();
    s.client.Take(300'000);
    harness_->Settle();
    if (by_shutdown) {
      harness_->engine().EndAll(EndCode::kShutDown);
      s.client.Close();
    } else {
      s.client.Reset();
    }
    ASSERT_TRUE(harness_->AllGone()) << by_shutdown;
    EXPECT_TRUE(log_.returned.empty());
  }
}

TEST_P(FramedTest, TunnelBeginsBehindTheAnswer) {
  TestSession& s = StartFramed();
  s.client.Send("0\nhello from the client");
  ASSERT_TRUE(Asked(s));
  s.upstream.Send("0T\nhello from the upstream");
  ASSERT_TRUE(Arrives(s.client, "D0T\nhello from the upstream"));
  ASSERT_TRUE(Arrives(s.upstream, "U0\nhello from the client"));
  const std::string more = Bytes(56, 500'000);
  s.client.Send(more);
  s.client.Finish();
  ASSERT_TRUE(TurnUntil([&] { return s.upstream.saw_end(); }));
  EXPECT_TRUE(s.upstream.received() == "U0\nhello from the client" + more);
  s.upstream.Finish();
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->code(), EndCode::kFinished);
}

TEST_P(FramedTest, SilentClientAndSilentUpstreamHaveTheirTimes) {
  options_.idle_nanos = 60 * kSecond;
  TestSession& quiet = StartFramed();
  harness_->Settle();
  harness_->Advance(11 * kSecond);
  ASSERT_TRUE(TurnUntil([&] { return quiet.client.saw_end(); })) << "10 s for the next request";
  quiet.client.Finish();
  ASSERT_TRUE(harness_->AllGone());

  TestSession& waits = StartFramed();
  waits.client.Send("0\n");
  ASSERT_TRUE(Arrives(waits.upstream, "U0\n"));
  for (int i = 0; i < 5; ++i) harness_->Advance(11 * kSecond);
  harness_->Settle();
  EXPECT_FALSE(waits.client.saw_either());
  harness_->Advance(11 * kSecond);
  ASSERT_TRUE(TurnUntil([&] { return waits.client.saw_end(); }));
  EXPECT_EQ(waits.client.received(), "late\n");
  waits.client.Finish();
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(waits.record->code(), EndCode::kIdleTimeout);
}

TEST_P(FramedTest, WhatComesBetweenTwoExchangesIsNotTheNextAnswer) {
  TestSession& s = StartFramed();
  s.client.Send("0\n");
  ASSERT_TRUE(Asked(s));
  s.upstream.Send("0\n");
  ASSERT_TRUE(Arrives(s.client, "D0\n"));
  // Both at once: the loop may tell of the client first.
  s.client.Send("1\nx");
  s.upstream.Send("5\nstray");
  ASSERT_TRUE(Left());
  EXPECT_EQ(s.client.received(), "D0\n");
  EXPECT_EQ(s.upstream.received(), "U0\n") << "the request goes elsewhere";
  ASSERT_EQ(log_.returned.size(), 1u);
}

TEST_P(FramedTest, HeadThatIsDrippedHasOneTime) {
  options_.idle_nanos = 30 * kSecond;
  TestSession& s = StartFramed();
  s.client.Send("0\n");
  ASSERT_TRUE(Arrives(s.upstream, "U0\n"));
  for (int i = 0; i < 5 && !s.client.saw_either(); ++i) {
    s.upstream.Send("1");
    harness_->Settle();
    harness_->Advance(11 * kSecond);
    harness_->Settle();
  }
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end(); }));
  EXPECT_EQ(s.client.received(), "late\n");
  s.client.Finish();
  ASSERT_TRUE(harness_->AllGone());
}

TEST_P(FramedTest, ClientThatWaitsForAWordGetsIt) {
  TestSession& s = StartFramed();
  s.client.Send("5W\n");
  ASSERT_TRUE(Arrives(s.upstream, "U5W\n"));
  harness_->Advance(1 * kSecond);
  harness_->Settle();
  EXPECT_EQ(s.client.received(), "");
  harness_->Advance(2 * kSecond);
  ASSERT_TRUE(Arrives(s.client, "go on\n"));
  s.client.Send("hello");
  ASSERT_TRUE(Arrives(s.upstream, "U5W\nhello"));
  s.upstream.Send("1\n1");
  ASSERT_TRUE(Arrives(s.client, "go on\nD1\n1"));
}

TEST_P(FramedTest, EndOfTheUploadIsPassedOnAndTheAnswerStillComes) {
  TestSession& s = StartFramed({.send_buffer_bytes = 65'536});
  const std::string body = Bytes(57, 700'000);
  s.upstream.PauseReading(true);
  s.client.Send(Message(body, "E"));
  harness_->Settle();
  EXPECT_FALSE(s.upstream.saw_end());
  s.upstream.PauseReading(false);
  ASSERT_TRUE(TurnUntil([&] { return s.upstream.saw_end(); }));
  EXPECT_TRUE(s.upstream.received() == "U" + Message(body, "E"));
  s.upstream.Send("2R\nok");
  ASSERT_TRUE(Arrives(s.client, "D2R\nok"));
  ASSERT_TRUE(Left());
  EXPECT_EQ(log_.returned.size(), 1u);
}

TEST_P(FramedTest, RequestThatTheUpstreamNeverReceivedIsKnown) {
  StartArgs args{.client = kind(), .upstream = kind(), .from_client = "request", .upstream_has_left = true};
  TestSession& late =
      harness_->Start(args, &options_, std::make_unique<LineFramer>(&log_, &tunnel_options_, /*begun=*/true));
  ASSERT_TRUE(Arrives(late.client, "gone\n"));
  EXPECT_EQ(log_.undelivered_bytes, is_tcp() ? 7 : 0);
  late.client.Finish();
  ASSERT_TRUE(harness_->AllGone());

  for (const bool by_reset : {false, true}) {
    log_.undelivered_bytes = -1;
    TestSession& read = StartFramed();
    read.client.Send("7\nrequest");
    ASSERT_TRUE(Arrives(read.upstream, "U7\nrequest"));
    if (by_reset) {
      read.upstream.Reset();
    } else {
      read.upstream.Close();
    }
    ASSERT_TRUE(Arrives(read.client, "gone\n"));
    EXPECT_EQ(log_.undelivered_bytes, 0) << by_reset;
    read.client.Finish();
    ASSERT_TRUE(harness_->AllGone());
  }
}

TEST_P(FramedTest, DrainEndsClientsBetweenTwoExchangesOnly) {
  TestSession& idle = StartFramed();
  TestSession& busy = StartFramed();
  busy.client.Send("0\n");
  ASSERT_TRUE(Arrives(busy.upstream, "U0\n"));
  harness_->engine().EndIdle();
  ASSERT_TRUE(TurnUntil([&] { return idle.client.saw_end(); }));
  EXPECT_FALSE(busy.client.saw_either());
  busy.upstream.Send("2\nok");
  ASSERT_TRUE(TurnUntil([&] { return busy.client.saw_end(); }));
  EXPECT_EQ(busy.client.received(), "D2\nok");
  idle.client.Finish();
  busy.client.Finish();
  ASSERT_TRUE(harness_->AllGone());
}

}  // namespace
}  // namespace sluice::relay::testing
