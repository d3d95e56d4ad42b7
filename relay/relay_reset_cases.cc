// Disorderly ends: one side resets or breaks, at each moment.

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

#include "relay/testing/relay_matrix.h"

namespace sluice::relay::testing {
namespace {

bool AllAcknowledged(const Peer& peer) {
  int queued = 0;
  return peer.all_sent() && ioctl(peer.fd(), SIOCOUTQ, &queued) == 0 && queued == 0;
}

TEST_P(RelayMatrixTest, ResetBeforeAnyDataIsPassedOn) {
  for (const bool by_client : {true, false}) {
    TestSession& s = Start();
    harness_->Settle();
    Peer& breaker = by_client ? s.client : s.upstream;
    Peer& other = by_client ? s.upstream : s.client;
    breaker.Reset();
    ASSERT_TRUE(TurnUntil([&] { return other.saw_either(); }));
    if (is_tcp()) {
      EXPECT_TRUE(other.saw_reset());
      EXPECT_EQ(s.record->code(), EndCode::kReadFailed);
      EXPECT_EQ(s.record->report.reason.error, ECONNRESET);
      EXPECT_EQ(s.record->report.reason.side, by_client ? EndSide::kClient : EndSide::kUpstream);
    } else {
      other.Finish();  // a unix socket that is closed without unread input has ended in order
    }
    ASSERT_TRUE(harness_->AllGone());
  }
}

TEST_P(RelayMatrixTest, ResetInMidStreamIsPassedOn) {
  for (const bool by_client : {true, false}) {
    TestSession& s = Start();
    Peer& breaker = by_client ? s.client : s.upstream;
    Peer& other = by_client ? s.upstream : s.client;
    breaker.PauseReading(true);
    other.Send(Bytes(30, 8'000'000));
    breaker.Send(Bytes(31, 400'000));
    ASSERT_TRUE(TurnUntil([&] { return other.received().size() == 400'000; }));
    harness_->Settle();
    breaker.Reset();
    ASSERT_TRUE(TurnUntil([&] { return other.saw_either() && s.record->ended(); }));
    EXPECT_TRUE(other.received() == Bytes(31, 400'000));
    EXPECT_TRUE(other.saw_reset()) << "by_client " << by_client;
    EXPECT_NE(s.record->code(), EndCode::kFinished);
    EXPECT_EQ(s.record->report.reason.side, by_client ? EndSide::kClient : EndSide::kUpstream);
    other.Close();
    ASSERT_TRUE(harness_->AllGone());
    const FlowReport& cut = by_client ? s.record->report.from_upstream : s.record->report.from_client;
    EXPECT_GT(cut.unsent_bytes, 0);
  }
}

TEST_P(RelayMatrixTest, ResetOfTheReaderEndsAStreamInFullFlow) {
  // Both directions full, the relay meets the reset by a write in one and by a read in the other.
  for (int i = 0; i < 4; ++i) {
    TestSession& s = Start();
    s.client.Send(Bytes(32, 6'000'000));
    s.upstream.Send(Bytes(33, 6'000'000));
    ASSERT_TRUE(TurnUntil([&] { return s.client.received().size() > 100'000u * i; }));
    s.client.Reset();
    ASSERT_TRUE(TurnUntil([&] { return s.record->ended() && s.upstream.saw_either(); }));
    EXPECT_EQ(s.record->report.reason.side, EndSide::kClient);
    EXPECT_NE(s.record->code(), EndCode::kFinished);
    if (is_tcp()) {
      EXPECT_TRUE(s.upstream.saw_reset()) << "an upload that was cut looks whole";
    }
    s.upstream.Close();
    ASSERT_TRUE(harness_->AllGone());
    EXPECT_TRUE(s.upstream.received() == Bytes(32, static_cast<int64_t>(s.upstream.received().size())));
  }
}

TEST_P(RelayMatrixTest, AnswerThenResetIsDeliveredWhole) {
  const std::string answer = Bytes(34, 200'000);
  TestSession& s = Start();
  s.client.Send("request");
  ASSERT_TRUE(TurnUntil([&] { return s.upstream.received() == "request"; }));
  s.upstream.Send(answer);
  ASSERT_TRUE(TurnUntil([&] { return AllAcknowledged(s.upstream); }));
  s.upstream.Reset();
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_either(); }));
  EXPECT_TRUE(s.client.received() == answer);
  s.client.Close();
  ASSERT_TRUE(harness_->AllGone());
}

// A client that reads later, and whose next request nobody will take: closing with that request unread must not become
// a reset that destroys the answer.
TEST_P(RelayMatrixTest, AnswerThenResetReachesAClientThatReadsLaterAndSaysMore) {
  const std::string answer = Bytes(35, 600'000);
  TestSession& s = Start();
  s.client.Send("request");
  ASSERT_TRUE(TurnUntil([&] { return s.upstream.received() == "request"; }));
  s.client.PauseReading(true);
  s.client.LimitReceiveBuffer(32'768);
  int64_t acknowledged = 0;
  s.upstream.Send(answer);
  ASSERT_TRUE(TurnUntil([&] { return AllAcknowledged(s.upstream) || s.upstream.sent_bytes() > 0; }));
  harness_->Settle();
  {
    int queued = 0;
    ASSERT_EQ(ioctl(s.upstream.fd(), SIOCOUTQ, &queued), 0);
    // What the other end of a unix socket has not read is still with the sender, and yet delivered.
    acknowledged = s.upstream.sent_bytes() - (is_tcp() ? queued : 0);
  }
  s.upstream.Reset();
  harness_->Settle();
  s.client.Send("another request");
  harness_->Settle();
  s.client.PauseReading(false);
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_either(); }));
  EXPECT_TRUE(s.client.received() == Bytes(35, static_cast<int64_t>(s.client.received().size())));
  EXPECT_GE(static_cast<int64_t>(s.client.received().size()), acknowledged);
  s.client.Close();
  ASSERT_TRUE(harness_->AllGone());
}

// The upstream refuses the rest of an upload by a reset, after it has answered: the answer arrives, and the client may
// finish its upload into nowhere.
TEST_P(RelayMatrixTest, AnswerBeforeTheUploadIsOverArrivesWhole) {
  for (const bool half_close : {true, false}) {
    options_.half_close = half_close;
    const std::string answer = Bytes(36, 3'000'000);
    TestSession& s = Start({.send_buffer_bytes = 65'536});
    s.upstream.PauseReading(true);
    s.client.PauseReading(true);
    s.client.Send(Bytes(37, 20'000'000));
    harness_->Settle();
    s.upstream.Send(answer);
    harness_->Settle();
    int queued = 0;
    ASSERT_EQ(ioctl(s.upstream.fd(), SIOCOUTQ, &queued), 0);
    const int64_t delivered = s.upstream.sent_bytes() - (is_tcp() ? queued : 0);
    s.upstream.Close();  // with unread input: a reset
    harness_->Settle();
    s.client.PauseReading(false);
    ASSERT_TRUE(TurnUntil([&] { return s.client.saw_either(); }));
    EXPECT_GE(static_cast<int64_t>(s.client.received().size()), delivered) << "half_close " << half_close;
    EXPECT_TRUE(s.client.received() == Bytes(36, static_cast<int64_t>(s.client.received().size())));
    s.client.Close();
    ASSERT_TRUE(harness_->AllGone());
    EXPECT_NE(s.record->code(), EndCode::kFinished);
  }
}

TEST_P(RelayMatrixTest, ClientThatFinishedAndLeftEndsTheAnswer) {
  TestSession& s = Start();
  s.client.Send("request");
  s.client.Finish();
  ASSERT_TRUE(TurnUntil([&] { return s.upstream.saw_end(); }));
  s.client.Close();
  s.upstream.Send(Bytes(38, 10'000'000));
  ASSERT_TRUE(TurnUntil([&] { return s.record->ended() && s.upstream.saw_either(); }));
  EXPECT_EQ(s.record->code(), EndCode::kWriteFailed);
  EXPECT_EQ(s.record->report.reason.side, EndSide::kClient);
  s.upstream.Close();
  ASSERT_TRUE(harness_->AllGone());
}

TEST_P(RelayMatrixTest, ReaderThatShutsItsReadingSideIsStillHeard) {
  if (is_tcp()) GTEST_SKIP() << "TCP does not tell the other side";
  TestSession& s = Start();
  ASSERT_EQ(shutdown(s.upstream.fd(), SHUT_RD), 0);
  s.upstream.PauseReading(true);
  s.client.Send("refused");
  harness_->Settle();
  EXPECT_FALSE(s.record->ended());
  s.upstream.Send("the answer");
  ASSERT_TRUE(TurnUntil([&] { return s.client.received() == "the answer"; }));
  s.upstream.Finish();
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end(); }));
  s.client.Finish();
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->code(), EndCode::kWriteFailed);
  EXPECT_EQ(s.record->report.reason.error, EPIPE);
}

TEST_P(RelayMatrixTest, ResetWhileItsUploadIsBlockedIsNoticed) {
  if (!is_tcp()) GTEST_SKIP() << "a unix socket has no reset without unread input";
  options_.half_closed_idle_nanos = 5 * sys::kNanosPerSecond;
  TestSession& s = Start();
  s.upstream.PauseReading(true);
  s.client.Send(Bytes(39, 20'000'000));
  harness_->Settle();
  s.client.Reset();
  harness_->Settle();
  EXPECT_FALSE(s.record->ended()) << "what was received is still to be delivered";
  // Nobody will ever take it: the time of a half-closed session is enough.
  harness_->Advance(6 * sys::kNanosPerSecond);
  EXPECT_TRUE(s.record->ended());
  EXPECT_EQ(s.record->code(), EndCode::kReadFailed);
  s.upstream.Close();
  ASSERT_TRUE(harness_->AllGone());
}

}  // namespace
}  // namespace sluice::relay::testing
