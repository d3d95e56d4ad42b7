#ifndef SLUICE_RELAY_TESTING_SESSION_HARNESS_H_
#define SLUICE_RELAY_TESTING_SESSION_HARNESS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "relay/engine.h"
#include "relay/framer.h"
#include "relay/session_limits.h"
#include "relay/testing/peer.h"
#include "sys/loop/loop.h"
#include "sys/thread/clock.h"

namespace sluice::relay::testing {

// What an observer was told, and what it is to answer.
struct Record {
  std::string answer_connected = {};
  std::string answer_not_connected = {};
  SessionReport report;  // of OnEnd
  int ends = 0;
  bool destroyed = false;
  std::vector<SessionReport> progress;
  std::vector<sys::SocketAddress> connected;
  std::vector<std::pair<sys::SocketAddress, int>> failed;

  bool ended() const { return ends > 0; }
  EndCode code() const { return report.reason.code; }
};

class RecordingObserver final : public SessionObserver {
 public:
  explicit RecordingObserver(std::shared_ptr<Record> record, std::unique_ptr<Framer> framer = nullptr)
      : record_(std::move(record)), framer_(std::move(framer)) {}
  ~RecordingObserver() override { record_->destroyed = true; }
  void OnConnected(int, const sys::SocketAddress& upstream) override { record_->connected.push_back(upstream); }
  void OnConnectFailed(const sys::SocketAddress& upstream, int error) override {
    record_->failed.emplace_back(upstream, error);
  }
  Framer* framer() override { return framer_.get(); }
  std::string AnswerConnected(int) override { return record_->answer_connected; }
  std::string AnswerNotConnected(const EndReason&) override { return record_->answer_not_connected; }
  void OnProgress(const SessionReport& so_far) override { record_->progress.push_back(so_far); }
  void OnEnd(const SessionReport& report) override {
    record_->report = report;
    ++record_->ends;
  }

 private:
  std::shared_ptr<Record> record_;
  std::unique_ptr<Framer> framer_;
};

// One session under test: the far ends of its legs and what its observer was told.
struct TestSession {
  Peer client;
  Peer upstream;
  std::shared_ptr<Record> record = std::make_shared<Record>();
};

// What a test may choose of a session that is connected on both sides.
struct StartArgs {
  SocketKind client = SocketKind::kIpv4;
  SocketKind upstream = SocketKind::kIpv4;
  std::string from_client = {};
  std::string from_upstream = {};
  std::string answer = {};
  int send_buffer_bytes = 0;  // SO_SNDBUF of both of the relay's sockets; 0 = the system's
  int receive_buffer_bytes = 0;
  bool upstream_has_left = false;                   // its far end was closed before the session began
  std::function<void(SessionLimits&)> limits = {};  // fills them in; nothing: there are none
  bool client_transform = false;                    // a FrameTransform
  bool upstream_transform = false;
};

// An engine on a loop, with real sockets, and the clock turned by hand. A turn lets the peers work, waits at most 1 ms
// for events, and does what Worker::Turn does; time stands still but for Advance() and TurnUntil().
//
//   SessionHarness harness(*MakeLoop(kind));
//   TestSession& s = harness.Start({.client = SocketKind::kUnix}, options);
//   s.client.Send("hello");
//   ASSERT_TRUE(harness.TurnUntil([&] { return s.upstream.received() == "hello"; }));
class SessionHarness {
 public:
  explicit SessionHarness(std::unique_ptr<sys::Loop> loop);
  ~SessionHarness();

  TestSession& Start(const StartArgs& args, const RelayOptions* options, std::unique_ptr<Framer> framer = nullptr);
  // The worker connects to the candidates; the test accepts.
  struct ConnectArgs {
    SocketKind client = SocketKind::kIpv4;
    std::vector<sys::SocketAddress> candidates = {};
    const OutgoingOptions* outgoing = nullptr;
    std::string from_client = {};
    std::string answer_connected = {};
    std::string answer_not_connected = {};
  };
  TestSession& StartConnecting(ConnectArgs args, const RelayOptions* options);

  // One turn; the number of events that it brought.
  int Turn(int64_t most_wait_nanos = sys::kNanosPerMilli);
  // Turns, each a millisecond of the engine's time. False after kPatience.
  template <typename Done>
  ::testing::AssertionResult TurnUntil(Done done) {
    const sys::MonotonicNanos deadline = sys::Clock::System().Now() + kPatience;
    while (!done()) {
      if (sys::Clock::System().Now() > deadline) return ::testing::AssertionFailure() << Describe();
      clock_.Advance(sys::kNanosPerMilli);
      Turn();
    }
    return ::testing::AssertionSuccess();
  }
  // Turns until some in a row bring nothing and move nothing: whatever was on its way has arrived.
  void Settle();
  // Time passes, in one step, and the engine is told.
  void Advance(int64_t nanos);

  // All sessions are over and nothing of them is left: observers told once, watches, timers and slots given back.
  ::testing::AssertionResult AllGone();

  sys::Loop& loop() { return *loop_; }
  Engine& engine() { return engine_; }
  sys::MonotonicNanos now() const { return clock_.Now(); }

  static constexpr sys::MonotonicNanos kPatience = 20 * sys::kNanosPerSecond;

 private:
  std::string Describe() const;
  int64_t PeerBytes() const;

  const std::unique_ptr<sys::Loop> loop_;
  sys::ManualClock clock_{1'000'000'000'123'456};
  Engine engine_;
  std::vector<std::unique_ptr<TestSession>> sessions_;
};

// Descriptors that this process has open.
int OpenDescriptors();

}  // namespace sluice::relay::testing

#endif  // SLUICE_RELAY_TESTING_SESSION_HARNESS_H_
