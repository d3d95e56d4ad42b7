// The relay from socket to socket: what goes in comes out, on each loop, data path and kind of socket. How sessions end
// is in relay_end_cases.cc and relay_reset_cases.cc.

#include "relay/testing/relay_matrix.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <string>

namespace sluice::relay::testing {
namespace {

using sys::testing::LoopKind;

INSTANTIATE_TEST_SUITE_P(All, RelayMatrixTest,
                         ::testing::Combine(::testing::Values(LoopKind::kEpoll, LoopKind::kUring),
                                            ::testing::ValuesIn(kPaths), ::testing::ValuesIn(kSocketKinds)),
                         MatrixName);

TEST_P(RelayMatrixTest, BytesArriveWholeBothWaysAtOnce) {
  const std::string up = Bytes(1, 1'500'000);
  const std::string down = Bytes(2, 2'000'001);
  TestSession& s = Start();
  s.client.Send(up);
  s.upstream.Send(down);
  s.client.Finish();
  s.upstream.Finish();
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end() && s.upstream.saw_end(); }));
  EXPECT_TRUE(s.upstream.received() == up);
  EXPECT_TRUE(s.client.received() == down);
  ASSERT_TRUE(harness_->AllGone());

  const SessionReport& report = s.record->report;
  EXPECT_EQ(s.record->code(), EndCode::kFinished);
  EXPECT_EQ(report.from_client.bytes, static_cast<int64_t>(up.size()));
  EXPECT_EQ(report.from_upstream.bytes, static_cast<int64_t>(down.size()));
  for (const FlowReport& flow : {report.from_client, report.from_upstream}) {
    EXPECT_EQ(flow.unsent_bytes, 0);
    switch (path()) {
      case Path::kCopy:
        EXPECT_EQ(flow.path, DataPath::kCopy);
        EXPECT_EQ(flow.spliced_bytes, 0);
        break;
      case Path::kSplice:
        EXPECT_EQ(flow.path, DataPath::kSplice);
        EXPECT_EQ(flow.spliced_bytes, flow.bytes);
        break;
      case Path::kAutomatic:  // a stream of big reads turns after two of them
        EXPECT_EQ(flow.path, DataPath::kBoth);
        EXPECT_GT(flow.spliced_bytes, flow.bytes / 2);
        break;
    }
  }
}

TEST_P(RelayMatrixTest, MessagesGoToAndFroOneByOne) {
  TestSession& s = Start();
  for (int i = 0; i < 100; ++i) {
    const std::string ask = Bytes(3, 1 + i % 9, i);
    const size_t seen = s.client.received().size();
    s.client.Send(ask);
    ASSERT_TRUE(TurnUntil([&] { return s.upstream.received().size() == seen + ask.size(); })) << i;
    s.upstream.Send(ask);
    ASSERT_TRUE(TurnUntil([&] { return s.client.received().size() == seen + ask.size(); })) << i;
  }
  EXPECT_EQ(s.client.received(), s.upstream.received());
  s.client.Finish();
  s.upstream.Finish();
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->report.from_client.bytes, static_cast<int64_t>(s.client.received().size()));
  if (path() == Path::kAutomatic) {
    EXPECT_EQ(s.record->report.from_client.path, DataPath::kCopy);
  }
}

TEST_P(RelayMatrixTest, UpstreamSpeaksFirst) {
  TestSession& s = Start();
  s.upstream.Send("220 hello\r\n");
  ASSERT_TRUE(TurnUntil([&] { return s.client.received() == "220 hello\r\n"; }));
}

TEST_P(RelayMatrixTest, EarlyBytesComeBeforeEverythingElse) {
  TestSession& s = Start({.from_client = "GET / HTTP/1.0\r\n", .from_upstream = "220 "});
  s.client.Send("\r\n");
  s.upstream.Send("ready");
  ASSERT_TRUE(TurnUntil([&] { return s.upstream.received().size() == 18 && s.client.received().size() == 9; }));
  EXPECT_EQ(s.upstream.received(), "GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(s.client.received(), "220 ready");
  s.client.Finish();
  s.upstream.Finish();
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->report.from_client.bytes, 18);
  EXPECT_EQ(s.record->report.from_upstream.bytes, 9);
}

TEST_P(RelayMatrixTest, AnswerOfOursComesBeforeTheUpstreamsEarlyBytes) {
  for (const std::string& early : {std::string(), std::string("BANNER")}) {
    TestSession& s = Start({.from_upstream = early, .answer = "granted "});
    s.upstream.Send("hello");
    ASSERT_TRUE(TurnUntil([&] { return s.client.received() == "granted " + early + "hello"; }));
    s.upstream.Finish();
    s.client.Finish();
    ASSERT_TRUE(harness_->AllGone());
    EXPECT_EQ(s.record->report.from_upstream.bytes, static_cast<int64_t>(early.size()) + 5) << "ours is not counted";
  }
}

TEST_P(RelayMatrixTest, EarlyBytesMayBeMoreThanTheSinkTakes) {
  const std::string early = Bytes(4, 3'000'000);
  TestSession& s = Start({.from_upstream = early, .send_buffer_bytes = 65'536});
  s.client.PauseReading(true);
  s.upstream.Send("tail");
  s.upstream.Finish();
  s.client.Finish();
  harness_->Settle();
  EXPECT_FALSE(s.record->ended());
  s.client.PauseReading(false);
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end(); }));
  EXPECT_TRUE(s.client.received() == early + "tail");
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->code(), EndCode::kFinished);
}

TEST_P(RelayMatrixTest, StalledReaderCostsNoTurns) {
  TestSession& s = Start();
  s.client.PauseReading(true);
  s.upstream.Send(Bytes(5, 16'000'000));
  harness_->Settle();
  ASSERT_FALSE(s.upstream.all_sent()) << "the stream fits into the kernel's buffers";
  const int64_t read_before = harness_->engine().transfer().stats().copied_bytes;
  int events = 0;
  for (int i = 0; i < 20; ++i) {
    EXPECT_NE(harness_->engine().NanosToNext(harness_->now()), 0);
    events += harness_->Turn(2 * sys::kNanosPerMilli);
  }
  // The kernel may still tell of an acknowledgement or a window, but nothing turns round and round.
  EXPECT_LE(events, 3);
  EXPECT_EQ(harness_->engine().transfer().stats().copied_bytes, read_before);
}

TEST_P(RelayMatrixTest, SlowReaderGetsTheLastBlockAndTheEnd) {
  const std::string bytes = Bytes(6, 5'000'000);
  TestSession& s = Start();
  s.client.PauseReading(true);
  s.client.LimitReceiveBuffer(65'536);
  s.upstream.Send(bytes);
  s.upstream.Finish();
  harness_->Settle();
  s.client.PauseReading(false);
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end(); }));
  EXPECT_TRUE(s.client.received() == bytes);
}

TEST_P(RelayMatrixTest, EndComesWithTheLastBlockToABlockedReader) {
  // The end is known while a rest is held: it must follow the rest by itself, whatever else happens.
  for (const int tail : {1, 1000, 70'000, 300'000}) {
    TestSession& s = Start({.send_buffer_bytes = 4096});
    s.client.PauseReading(true);
    const std::string bytes = Bytes(7, 400'000 + tail);
    s.upstream.Send(bytes);
    s.upstream.Finish();
    s.client.Finish();
    harness_->Settle();
    s.client.PauseReading(false);
    ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end() && s.record->ended(); })) << tail;
    EXPECT_TRUE(s.client.received() == bytes) << tail;
  }
}

TEST_P(RelayMatrixTest, ManyTinySegmentsFillSlotsBeforeBytes) {
  TestSession& s = Start();
  s.client.PauseReading(true);
  s.client.LimitReceiveBuffer(65'536);
  std::string sent;
  for (int i = 0; i < 4000; ++i) {
    const std::string piece = Bytes(8, 1 + i % 100, i);
    s.upstream.Send(piece);
    s.upstream.Work();  // a segment, or a unix message, of its own
    sent += piece;
    if (i % 16 == 0) harness_->Turn(0);
  }
  s.upstream.Finish();
  harness_->Settle();
  s.client.PauseReading(false);
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end(); }));
  EXPECT_TRUE(s.client.received() == sent);
}

TEST_P(RelayMatrixTest, UrgentByteStaysAtItsPlace) {
  if (!is_tcp()) GTEST_SKIP() << "urgent data of unix sockets is no part of the stream";
  TestSession& s = Start();
  std::string all;
  for (int i = 0; i < 20; ++i) {
    const std::string before = Bytes(9, i * 997 % 50'000, i);
    s.client.Send(before);
    ASSERT_TRUE(TurnUntil([&] { return s.client.all_sent(); }));
    s.client.SendUrgent('!');
    s.client.Send("after");
    all += before + "!after";
    if (i % 3 == 0) {
      ASSERT_TRUE(TurnUntil([&] { return s.upstream.received().size() == all.size(); })) << i;
    }
  }
  s.client.SendUrgent('?');  // nothing follows that could wake anybody
  all += "?";
  ASSERT_TRUE(TurnUntil([&] { return s.upstream.received().size() == all.size(); }));
  EXPECT_TRUE(s.upstream.received() == all);
}

TEST_P(RelayMatrixTest, ProgressIsToldEverySoManyBytes) {
  options_.report_bytes_from_upstream = 100'000;
  TestSession& s = Start();
  s.client.Send(Bytes(10, 300'000));
  s.upstream.Send(Bytes(11, 1'000'000));
  s.client.Finish();
  s.upstream.Finish();
  ASSERT_TRUE(harness_->AllGone());
  const auto& progress = s.record->progress;
  ASSERT_FALSE(progress.empty());
  EXPECT_GE(progress.size(), 3u);  // a read takes at most a pipe's 256 KB
  EXPECT_LE(progress.size(), 10u);
  int64_t last = 0;
  for (const SessionReport& report : progress) {
    EXPECT_GE(report.from_upstream.bytes, last + 100'000);
    last = report.from_upstream.bytes;
  }
}

TEST_P(RelayMatrixTest, NoPipeToBeHadMeansTheSameBytesByCopy) {
  if (path() == Path::kCopy) return;
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const std::string bytes = Bytes(12, 3'000'000);
  TestSession& s = Start();
  // No descriptor beyond those that are open.
  const rlimit none{static_cast<rlim_t>(OpenDescriptors()), limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  s.upstream.Send(bytes);
  s.upstream.Finish();
  s.client.Finish();
  const ::testing::AssertionResult arrived = TurnUntil([&] { return s.client.saw_end(); });
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_TRUE(arrived);
  EXPECT_TRUE(s.client.received() == bytes);
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->report.from_upstream.path, DataPath::kCopy);
  EXPECT_GT(harness_->engine().transfer().stats().no_pipe, 0);
}

}  // namespace
}  // namespace sluice::relay::testing
