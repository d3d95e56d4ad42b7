// Seeded random walks: sessions of every kind, peers that do anything at any moment, a loop that does everything its
// contract allows. Whatever happens: no byte is lost, doubled, mixed or counted wrongly, a cut stream does not look
// whole, and nothing is left behind.

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "relay/testing/faulty_loop.h"
#include "relay/testing/session_harness.h"
#include "sys/loop/testing/loop_kinds.h"

namespace sluice::relay::testing {
namespace {

using sys::testing::LoopKind;

constexpr int64_t kMilli = sys::kNanosPerMilli;

std::vector<RelayOptions> SomeOptions() {
  std::vector<RelayOptions> all(7);
  all[0].splice = {.from_upstream = false, .from_client = false};
  all[1].splice.automatic = false;
  all[2].report_bytes_from_client = 10'000;
  all[3].half_close = false;
  all[4].half_close = false;
  all[4].splice.automatic = false;
  all[5].grace = {.traffic_bytes = 8000, .reads = 2, .delay_millis = 3};
  all[6].read_bytes = 1000;
  return all;
}

// One session of a walk: what it is, and what its peers have done.
struct Walker {
  TestSession* session = nullptr;
  const RelayOptions* options = nullptr;
  uint32_t seed = 0;
  TestListener listener;  // of a session that connects
  bool is_tcp = false;    // both legs
  bool client_reset = false, upstream_reset = false;
  bool client_closed = false, upstream_closed = false;
  bool client_finished = false, upstream_finished = false;
  int64_t client_said = 0, upstream_said = 0;
};

class Walk {
 public:
  Walk(std::unique_ptr<sys::Loop> loop, uint32_t seed) : harness_(std::move(loop)), random_(seed) {}

  void Go(int steps) {
    for (int i = 0; i < steps; ++i) {
      if (walkers_.size() < 8 && Chance(150)) Begin();
      if (!walkers_.empty()) Act(walkers_[random_() % walkers_.size()]);
      for (Walker& walker : walkers_) AcceptFor(walker);
      const int kind = static_cast<int>(random_() % 100);
      if (kind < 30) harness_.Advance(static_cast<int64_t>(random_() % 5) * kMilli);
      if (kind == 99) harness_.Advance(static_cast<int64_t>(random_() % 7000) * kMilli);
      if (Chance(2)) {
        harness_.engine().EndAll(EndCode::kShutDown);
        was_ended_ = true;
      }
      harness_.Turn(0);
    }
  }

  // All peers come to an end, and so must all sessions.
  void Finish() {
    for (Walker& walker : walkers_) {
      TestSession& s = *walker.session;
      s.client.PauseReading(false);
      s.upstream.PauseReading(false);
      if (!walker.client_closed) Say(s.client, walker.client_finished);
      if (!walker.upstream_closed) Say(s.upstream, walker.upstream_finished);
    }
    for (int turns = 0; harness_.engine().running() > 0 && turns < 20'000; ++turns) {
      for (Walker& walker : walkers_) AcceptFor(walker);
      harness_.Advance(10 * kMilli);
      harness_.Turn(harness_.engine().running() > 0 && turns % 4 == 3 ? kMilli : 0);
    }
    ASSERT_TRUE(harness_.AllGone());
    // The relay has let go of everything: every peer that still listens learns of it, after the last byte.
    ASSERT_TRUE(harness_.TurnUntil([&] {
      return std::all_of(walkers_.begin(), walkers_.end(), [](const Walker& walker) {
        const TestSession& s = *walker.session;
        return (!s.client.open() || s.client.saw_either()) && (!s.upstream.open() || s.upstream.saw_either());
      });
    }));
    for (const Walker& walker : walkers_) Check(walker);
  }

 private:
  bool Chance(int in_a_thousand) { return static_cast<int>(random_() % 1000) < in_a_thousand; }
  SocketKind AnyKind() { return kSocketKinds[random_() % 3]; }
  static void Say(Peer& peer, bool& finished) {
    peer.Finish();
    finished = true;
  }

  void Begin() {
    walkers_.emplace_back();
    Walker& walker = walkers_.back();
    walker.seed = static_cast<uint32_t>(random_() % 60'000);
    walker.options = &options_[random_() % options_.size()];
    const SocketKind client = AnyKind(), upstream = AnyKind();
    walker.is_tcp = client != SocketKind::kUnix && upstream != SocketKind::kUnix;
    if (Chance(300)) {
      walker.listener = Listen(upstream);
      SessionHarness::ConnectArgs args{.client = client};
      if (Chance(300)) args.candidates.push_back(Listen(AnyKind()).address);  // nobody there
      if (Chance(900)) args.candidates.push_back(walker.listener.address);
      if (args.candidates.empty()) args.candidates.push_back(Listen(AnyKind()).address);
      walker.session = &harness_.StartConnecting(std::move(args), walker.options);
      return;
    }
    StartArgs args{.client = client, .upstream = upstream};
    if (Chance(300)) args.send_buffer_bytes = 4096 << random_() % 6;
    if (Chance(300)) args.receive_buffer_bytes = 65'536;
    if (Chance(200)) {
      walker.client_said = static_cast<int64_t>(random_() % 200'000);
      args.from_client = Bytes(walker.seed, walker.client_said);
    }
    if (Chance(200)) {
      walker.upstream_said = static_cast<int64_t>(random_() % 200'000);
      args.from_upstream = Bytes(walker.seed + 1, walker.upstream_said);
    }
    walker.session = &harness_.Start(args, walker.options);
  }

  void AcceptFor(Walker& walker) {
    if (!walker.listener.fd.valid() || walker.session->upstream.open() || walker.upstream_closed) return;
    sys::UniqueFd fd = Accept(walker.listener);
    if (!fd.valid()) return;
    walker.session->upstream = Peer(std::move(fd));
    if (walker.upstream_finished) walker.session->upstream.Finish();
  }

  void Act(Walker& walker) {
    const bool by_client = Chance(500);
    Peer& peer = by_client ? walker.session->client : walker.session->upstream;
    bool& finished = by_client ? walker.client_finished : walker.upstream_finished;
    bool& closed = by_client ? walker.client_closed : walker.upstream_closed;
    bool& reset = by_client ? walker.client_reset : walker.upstream_reset;
    if (!peer.open()) return;
    static constexpr int kSizes[] = {1, 100, 5'000, 70'000, 400'000};
    const int action = static_cast<int>(random_() % 100);
    if (action < 55) {
      if (finished) return;
      int64_t& said = by_client ? walker.client_said : walker.upstream_said;
      const int64_t count = 1 + static_cast<int64_t>(random_() % kSizes[random_() % std::size(kSizes)]);
      peer.Send(Bytes(walker.seed + (by_client ? 0 : 1), count, said));
      said += count;
    } else if (action < 70) {
      peer.PauseReading(true);
    } else if (action < 85) {
      peer.PauseReading(false);
    } else if (action < 92) {
      Say(peer, finished);
    } else if (action < 94) {
      peer.LimitReceiveBuffer(65'536);
    } else if (action < 96) {
      peer.Reset();
      closed = reset = true;
    } else if (action < 97) {
      peer.Close();
      closed = true;
    }
  }

  void CheckDirection(const Walker& walker, bool up) {
    const TestSession& s = *walker.session;
    const FlowReport& flow = up ? s.record->report.from_client : s.record->report.from_upstream;
    const Peer& receiver = up ? s.upstream : s.client;
    const int64_t said = up ? walker.client_said : walker.upstream_said;
    const bool sender_finished = up ? walker.client_finished : walker.upstream_finished;
    const bool sender_reset = up ? walker.client_reset : walker.upstream_reset;
    const bool sender_closed = up ? walker.client_closed : walker.upstream_closed;
    const bool receiver_closed = up ? walker.upstream_closed : walker.client_closed;
    const int64_t got = static_cast<int64_t>(receiver.received().size());

    EXPECT_TRUE(receiver.received() == Bytes(walker.seed + (up ? 0 : 1), got)) << "bytes lost, doubled or mixed";
    EXPECT_LE(flow.bytes, said);
    EXPECT_GE(flow.unsent_bytes, 0);
    EXPECT_LE(flow.spliced_bytes, flow.bytes);
    EXPECT_LE(got, flow.bytes - flow.unsent_bytes) << "more arrived than was counted";
    if (receiver.saw_end()) {
      EXPECT_EQ(got, flow.bytes - flow.unsent_bytes) << "a whole stream that is not";
    }
    const EndReason& reason = s.record->report.reason;
    if (reason.code == EndCode::kFinished) {
      EXPECT_EQ(flow.unsent_bytes, 0);
      if (sender_finished && !sender_closed && !receiver_closed && walker.options->half_close) {
        EXPECT_EQ(got, said) << "a clean end, and not everything arrived";
      }
    }
    const EndSide sender = up ? EndSide::kClient : EndSide::kUpstream;
    if (sender_reset && !sender_finished && walker.is_tcp && walker.options->half_close && !was_ended_ &&
        (reason.code == EndCode::kReadFailed || reason.code == EndCode::kWriteFailed) && reason.side == sender) {
      EXPECT_FALSE(receiver.saw_end()) << "a cut stream looks whole";
    }
  }

  static std::string Describe(const Peer& peer) {
    return absl::StrCat(peer.open() ? "open" : "closed", " sent ", peer.sent_bytes(), peer.all_sent() ? " (all)" : "",
                        " received ", peer.received().size(), peer.saw_end() ? " end" : "", " errno ", peer.error());
  }

  void Check(const Walker& walker) {
    SCOPED_TRACE(absl::StrCat("session of seed ", walker.seed, ", ", EndCodeName(walker.session->record->code()),
                              " errno ", walker.session->record->report.reason.error, ", client ",
                              Describe(walker.session->client), ", upstream ", Describe(walker.session->upstream)));
    for (const bool up : {true, false}) {
      SCOPED_TRACE(up ? "up" : "down");
      CheckDirection(walker, up);
    }
  }

  const std::vector<RelayOptions> options_ = SomeOptions();
  SessionHarness harness_;
  std::mt19937 random_;
  std::vector<Walker> walkers_;
  bool was_ended_ = false;
};

struct WalkKind {
  LoopKind loop;
  bool faulty;
};

class RelayWalkTest : public ::testing::TestWithParam<WalkKind> {};

INSTANTIATE_TEST_SUITE_P(Loops, RelayWalkTest,
                         ::testing::Values(WalkKind{LoopKind::kEpoll, false}, WalkKind{LoopKind::kUring, false},
                                           WalkKind{LoopKind::kSmallUring, false}, WalkKind{LoopKind::kEpoll, true},
                                           WalkKind{LoopKind::kUring, true}, WalkKind{LoopKind::kSmallUring, true}),
                         [](const auto& info) {
                           return sys::testing::ToString(info.param.loop) + (info.param.faulty ? "Faulty" : "");
                         });

// SLUICE_WALK_SEED=N walks that one seed; SLUICE_WALKS=N that many.
TEST_P(RelayWalkTest, NothingIsLostAndNothingIsLeft) {
  const char* one = std::getenv("SLUICE_WALK_SEED");
  const char* many = std::getenv("SLUICE_WALKS");
  const uint32_t first = one != nullptr ? static_cast<uint32_t>(std::atoi(one)) : 1;
  const uint32_t last = one != nullptr ? first : many != nullptr ? static_cast<uint32_t>(std::atoi(many)) : 40;
  const int descriptors = OpenDescriptors();
  for (uint32_t seed = first; seed <= last && !HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("SLUICE_WALK_SEED=", seed));
    absl::StatusOr<std::unique_ptr<sys::Loop>> loop = sys::testing::MakeLoop(GetParam().loop);
    if (!loop.ok()) {
      ASSERT_NE(GetParam().loop, LoopKind::kEpoll) << loop.status();
      GTEST_SKIP() << "NOT TESTED, this machine has no io_uring: " << loop.status();
    }
    {
      std::unique_ptr<sys::Loop> under = *std::move(loop);
      if (GetParam().faulty) {
        FaultyLoop::Faults faults;
        if (seed % 2 == 0)
          faults.lose = faults.refuse = 0;  // half of the walks without broken watches: ends stay clean
        under = std::make_unique<FaultyLoop>(std::move(under), seed, faults);
      }
      Walk walk(std::move(under), seed);
      walk.Go(200);
      walk.Finish();
    }
    EXPECT_EQ(OpenDescriptors(), descriptors);
  }
}

// A loop that takes no more descriptors, and one that loses them: the session is shed, and both sides learn of it.
TEST(RelayShedTest, WatchThatIsRefusedOrLostEndsTheSession) {
  const RelayOptions options;
  for (const bool refused : {true, false}) {
    FaultyLoop::Faults faults{.refuse = refused ? 1000 : 0, .lose = refused ? 0 : 1000};
    SessionHarness harness(std::make_unique<FaultyLoop>(*sys::testing::MakeLoop(LoopKind::kEpoll), /*seed=*/1, faults));
    TestSession& s = harness.Start({}, &options);
    const TestListener listener = Listen(SocketKind::kUnix);
    TestSession& connecting = harness.StartConnecting({.candidates = {listener.address}}, &options);
    ASSERT_TRUE(harness.AllGone()) << refused;
    for (const TestSession* session : {&s, &connecting}) {
      EXPECT_EQ(session->record->code(), EndCode::kNoResources);
      EXPECT_EQ(session->record->report.reason.side, EndSide::kUs);
      EXPECT_NE(session->record->report.reason.error, 0);
    }
    EXPECT_GE(harness.engine().stats().refused_resources.value(), 2);
    ASSERT_TRUE(harness.TurnUntil([&] { return s.client.saw_end() && s.upstream.saw_end(); }));
  }
}

}  // namespace
}  // namespace sluice::relay::testing
