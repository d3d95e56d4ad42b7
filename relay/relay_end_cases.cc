// Orderly ends: who finishes first, and what -C makes of it.

#include <string>

#include "relay/testing/relay_matrix.h"

namespace sluice::relay::testing {
namespace {

TEST_P(RelayMatrixTest, ClientFinishesAndStillGetsItsAnswer) {
  const std::string upload = Bytes(20, 100'000);
  const std::string answer = Bytes(21, 700'000);
  TestSession& s = Start();
  s.client.Send(upload);
  s.client.Finish();
  ASSERT_TRUE(TurnUntil([&] { return s.upstream.saw_end(); }));
  EXPECT_TRUE(s.upstream.received() == upload);
  EXPECT_FALSE(s.client.saw_either());
  s.upstream.Send(answer);
  s.upstream.Finish();
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end(); }));
  EXPECT_TRUE(s.client.received() == answer);
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->code(), EndCode::kFinished);
}

TEST_P(RelayMatrixTest, UpstreamFinishesAndStillGetsTheRest) {
  TestSession& s = Start();
  s.upstream.Send("that was all");
  s.upstream.Finish();
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end(); }));
  EXPECT_EQ(s.client.received(), "that was all");
  const std::string upload = Bytes(22, 700'000);
  s.client.Send(upload);
  s.client.Finish();
  ASSERT_TRUE(TurnUntil([&] { return s.upstream.saw_end(); }));
  EXPECT_TRUE(s.upstream.received() == upload);
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->code(), EndCode::kFinished);
}

TEST_P(RelayMatrixTest, BothFinishAtOnceWithNothingSaid) {
  TestSession& s = Start();
  s.client.Finish();
  s.upstream.Finish();
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end() && s.upstream.saw_end(); }));
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->code(), EndCode::kFinished);
  EXPECT_EQ(s.record->report.from_client.path, DataPath::kNone);
  EXPECT_EQ(s.record->report.from_upstream.path, DataPath::kNone);
}

TEST_P(RelayMatrixTest, HalfClosedAfterALongSilenceIsNotTimedOutAtOnce) {
  options_.half_closed_idle_nanos = 10 * sys::kNanosPerSecond;
  TestSession& s = Start();
  s.client.Send("request");
  ASSERT_TRUE(TurnUntil([&] { return s.upstream.received() == "request"; }));
  harness_->Advance(600 * sys::kNanosPerSecond);
  s.client.Finish();
  ASSERT_TRUE(TurnUntil([&] { return s.upstream.saw_end(); }));
  harness_->Advance(5 * sys::kNanosPerSecond);
  s.upstream.Send("answer");
  s.upstream.Finish();
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end(); }));
  EXPECT_EQ(s.client.received(), "answer");
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->code(), EndCode::kFinished);
}

TEST_P(RelayMatrixTest, WithoutHalfCloseTheClientsEndEndsAll) {
  options_.half_close = false;
  TestSession& s = Start();
  s.upstream.Send("hello");
  ASSERT_TRUE(TurnUntil([&] { return s.client.received() == "hello"; }));
  const std::string upload = Bytes(23, 300'000);
  s.client.Send(upload);
  s.client.Finish();
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end() && s.upstream.saw_end(); }));
  EXPECT_TRUE(s.upstream.received() == upload);
  s.upstream.Finish();
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->code(), EndCode::kFinished);
}

TEST_P(RelayMatrixTest, WithoutHalfCloseTheUpstreamsEndEndsAllOnceItsBytesAreDelivered) {
  options_.half_close = false;
  const std::string answer = Bytes(24, 2'000'000);
  TestSession& s = Start({.send_buffer_bytes = 65'536});
  s.client.PauseReading(true);
  s.client.Send("request");
  s.upstream.Send(answer);
  s.upstream.Finish();
  harness_->Settle();
  s.client.PauseReading(false);
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end() && s.upstream.saw_end(); }));
  EXPECT_TRUE(s.client.received() == answer);
  EXPECT_EQ(s.upstream.received(), "request");
  s.client.Finish();
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->code(), EndCode::kFinished);
  EXPECT_EQ(s.record->report.from_upstream.unsent_bytes, 0);
}

TEST_P(RelayMatrixTest, WithoutHalfCloseTheOtherSideMayGoOnSendingForAWhile) {
  // What it sends is thrown away, so that no reset destroys what it has not read yet.
  options_.half_close = false;
  const std::string upload = Bytes(25, 200'000);
  TestSession& s = Start();
  s.upstream.PauseReading(true);
  s.client.Send(upload);
  s.client.Finish();
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end(); }));
  s.upstream.Send(Bytes(26, 3'000'000));
  ASSERT_TRUE(TurnUntil([&] { return s.upstream.all_sent(); }));
  s.upstream.PauseReading(false);
  ASSERT_TRUE(TurnUntil([&] { return s.upstream.saw_either(); }));
  EXPECT_TRUE(s.upstream.saw_end());
  EXPECT_TRUE(s.upstream.received() == upload);
  s.upstream.Finish();
  ASSERT_TRUE(harness_->AllGone());
}

TEST_P(RelayMatrixTest, EndingAllSendsTheEndBothWays) {
  TestSession& quiet = Start();
  TestSession& busy = Start();
  busy.client.PauseReading(true);
  busy.upstream.Send(Bytes(27, 8'000'000));
  harness_->Settle();
  harness_->engine().EndAll(EndCode::kShutDown);
  EXPECT_EQ(quiet.record->code(), EndCode::kShutDown);
  EXPECT_EQ(busy.record->code(), EndCode::kShutDown);
  ASSERT_TRUE(TurnUntil([&] { return quiet.client.saw_end() && quiet.upstream.saw_end(); }));
  busy.client.PauseReading(false);
  ASSERT_TRUE(TurnUntil([&] { return busy.client.saw_either() && busy.upstream.saw_either(); }));
  ASSERT_TRUE(harness_->AllGone());
  const FlowReport& down = busy.record->report.from_upstream;
  EXPECT_EQ(static_cast<int64_t>(busy.client.received().size()), down.bytes - down.unsent_bytes);
}

}  // namespace
}  // namespace sluice::relay::testing
