// Sessions with a leg whose bytes go through a transform.

#include <memory>
#include <string>

#include "relay/testing/frame_transform.h"
#include "relay/testing/line_framer.h"
#include "relay/testing/relay_matrix.h"

namespace sluice::relay::testing {
namespace {

class TransformTest : public RelayMatrixTest {
 protected:
  // The client's leg, the upstream's, or both.
  TestSession& StartWith(bool client, bool upstream, StartArgs args = {}) {
    args.client = args.upstream = kind();
    args.client_transform = client;
    args.upstream_transform = upstream;
    return harness_->Start(args, &options_);
  }
  ::testing::AssertionResult Arrives(const Peer& peer, bool framed, const std::string& all, bool with_end) {
    return TurnUntil([&] {
      bool ended = false;
      const std::string content = framed ? FrameTransform::Content(peer.received(), &ended) : peer.received();
      return content == all && (!with_end || (peer.saw_end() && (ended || !framed)));
    });
  }
};

INSTANTIATE_TEST_SUITE_P(
    All, TransformTest,
    ::testing::Combine(::testing::Values(sys::testing::LoopKind::kEpoll, sys::testing::LoopKind::kUring),
                       ::testing::Values(Path::kSplice, Path::kAutomatic), ::testing::ValuesIn(kSocketKinds)),
    MatrixName);

TEST_P(TransformTest, BytesAndEndsArriveWholeBothWays) {
  const std::string up = Bytes(60, 1'000'000), down = Bytes(61, 1'500'000);
  for (const int legs : {1, 2, 3}) {
    const bool client = (legs & 1) != 0, upstream = (legs & 2) != 0;
    TestSession& s = StartWith(client, upstream, {.send_buffer_bytes = 20'000});
    s.client.Send(client ? FrameTransform::Frames(up) + FrameTransform::EndFrame() : up);
    s.client.Finish();
    ASSERT_TRUE(Arrives(s.upstream, upstream, up, true)) << legs;
    s.upstream.Send(upstream ? FrameTransform::Frames(down) + FrameTransform::EndFrame() : down);
    s.upstream.Finish();
    ASSERT_TRUE(Arrives(s.client, client, down, true)) << legs;
    ASSERT_TRUE(harness_->AllGone());
    EXPECT_EQ(s.record->code(), EndCode::kFinished);
    EXPECT_EQ(s.record->report.from_client.bytes, static_cast<int64_t>(up.size()));
    EXPECT_EQ(s.record->report.from_upstream.path, DataPath::kCopy);
  }
}

TEST_P(TransformTest, SmallMessagesGoToAndFro) {
  TestSession& s = StartWith(true, false);
  std::string up, down;
  for (int i = 0; i < 50; ++i) {
    s.client.Send(FrameTransform::Frames("ask"));
    up += "ask";
    ASSERT_TRUE(Arrives(s.upstream, false, up, false));
    s.upstream.Send("answer");
    down += "answer";
    ASSERT_TRUE(Arrives(s.client, true, down, false));
  }
  s.client.Close();
  s.upstream.Close();
  ASSERT_TRUE(harness_->AllGone());
}

TEST_P(TransformTest, EndWaitsForWhatTheTransformHolds) {
  TestSession& s = StartWith(true, false, {.send_buffer_bytes = 20'000});
  s.client.PauseReading(true);
  const std::string down = Bytes(62, 2'000'000);
  s.upstream.Send(down);
  s.upstream.Finish();
  harness_->Settle();
  EXPECT_FALSE(s.client.saw_end());
  s.client.PauseReading(false);
  ASSERT_TRUE(Arrives(s.client, true, down, true));
  // And with nothing left but the end itself.
  s.client.Send(FrameTransform::Frames("still") + FrameTransform::EndFrame());
  s.client.Finish();
  ASSERT_TRUE(Arrives(s.upstream, false, "still", true));
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->report.from_upstream.unsent_bytes, 0);
}

TEST_P(TransformTest, CutStreamIsPassedOnAsAReset) {
  TestSession& s = StartWith(true, false);
  s.client.Send(FrameTransform::Frames("part"));
  s.client.Finish();
  ASSERT_TRUE(TurnUntil([&] { return s.upstream.saw_either(); }));
  EXPECT_EQ(s.upstream.received(), "part");
  EXPECT_TRUE(is_tcp() ? s.upstream.saw_reset() : s.upstream.saw_either());
  s.upstream.Close();
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->code(), EndCode::kReadFailed);
  EXPECT_EQ(s.record->report.reason.error, FrameTransform::kTruncated);
}

TEST_P(TransformTest, RequestsAndAnswersGoThroughIt) {
  LineFramer::Log log;
  RelayOptions tunnel;
  StartArgs args{.send_buffer_bytes = 20'000, .client_transform = true};
  args.client = args.upstream = kind();
  TestSession& s = harness_->Start(args, &options_, std::make_unique<LineFramer>(&log, &tunnel));
  std::string up, down;
  for (const int size : {0, 1, 5'000, 300'000}) {
    const std::string message = std::to_string(size) + "\n" + Bytes(63, size);
    s.client.Send(FrameTransform::Frames(message));
    up += "U" + message;
    ASSERT_TRUE(Arrives(s.upstream, false, up, false)) << size;
    s.upstream.Send(message);
    down += "D" + message;
    ASSERT_TRUE(Arrives(s.client, true, down, false)) << size;
  }
  s.client.Send(FrameTransform::EndFrame());
  s.client.Finish();
  ASSERT_TRUE(Arrives(s.client, true, down, true));
}

}  // namespace
}  // namespace sluice::relay::testing
