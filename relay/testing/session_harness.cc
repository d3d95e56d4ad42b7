#include "relay/testing/session_harness.h"

#include <dirent.h>
#include <sys/socket.h>

#include <csignal>

#include "absl/strings/str_cat.h"
#include "relay/testing/frame_transform.h"

namespace sluice::relay::testing {
namespace {

void SetBuffers(int fd, const StartArgs& args) {
  if (args.send_buffer_bytes > 0) {
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &args.send_buffer_bytes, sizeof(int));
  }
  if (args.receive_buffer_bytes > 0) {
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &args.receive_buffer_bytes, sizeof(int));
  }
}

}  // namespace

SessionHarness::SessionHarness(std::unique_ptr<sys::Loop> loop)
    : loop_(std::move(loop)), engine_(loop_.get(), clock_.Now()) {
  std::signal(SIGPIPE, SIG_IGN);  // splice has no MSG_NOSIGNAL; the process ignores it, too
}

SessionHarness::~SessionHarness() = default;

TestSession& SessionHarness::Start(const StartArgs& args, const RelayOptions* options, std::unique_ptr<Framer> framer) {
  sessions_.push_back(std::make_unique<TestSession>());
  TestSession& session = *sessions_.back();
  SocketPair client = MakeSocketPair(args.client);
  SocketPair upstream = MakeSocketPair(args.upstream);
  SetBuffers(client.accepted.get(), args);
  SetBuffers(upstream.dialed.get(), args);
  session.client = Peer(std::move(client.dialed));
  session.upstream = Peer(std::move(upstream.accepted));
  if (args.upstream_has_left) session.upstream.Close();
  Handoff handoff;
  handoff.client = std::move(client.accepted);
  handoff.upstream = std::move(upstream.dialed);
  handoff.client_is_tcp = args.client != SocketKind::kUnix;
  handoff.upstream_is_tcp = args.upstream != SocketKind::kUnix;
  handoff.from_client = args.from_client;
  handoff.from_upstream = args.from_upstream;
  handoff.answer = args.answer;
  handoff.options = options;
  handoff.observer = std::make_unique<RecordingObserver>(session.record, std::move(framer));
  if (args.client_transform) handoff.client_transform = std::make_unique<FrameTransform>();
  if (args.upstream_transform) handoff.upstream_transform = std::make_unique<FrameTransform>();
  if (args.limits) {
    handoff.limits = std::make_unique<SessionLimits>();
    args.limits(*handoff.limits);
  }
  engine_.Adopt(std::move(handoff));
  return session;
}

TestSession& SessionHarness::StartConnecting(ConnectArgs args, const RelayOptions* options) {
  sessions_.push_back(std::make_unique<TestSession>());
  TestSession& session = *sessions_.back();
  SocketPair client = MakeSocketPair(args.client);
  session.client = Peer(std::move(client.dialed));
  Handoff handoff;
  handoff.client = std::move(client.accepted);
  handoff.client_is_tcp = args.client != SocketKind::kUnix;
  handoff.plan.candidates = std::move(args.candidates);
  handoff.plan.outgoing = args.outgoing;
  handoff.from_client = std::move(args.from_client);
  session.record->answer_connected = std::move(args.answer_connected);
  session.record->answer_not_connected = std::move(args.answer_not_connected);
  handoff.options = options;
  handoff.observer = std::make_unique<RecordingObserver>(session.record);
  engine_.Adopt(std::move(handoff));
  return session;
}

int SessionHarness::Turn(int64_t most_wait_nanos) {
  for (const auto& session : sessions_) {
    session->client.Work();
    session->upstream.Work();
  }
  // Timers stand still with the clock: only flows that wait for their turn forbid the wait.
  const int64_t wait = engine_.NanosToNext(clock_.Now()) == 0 ? 0 : most_wait_nanos;
  const absl::Span<const sys::Loop::Event> events = loop_->Turn(wait);
  engine_.AdvanceTo(clock_.Now());
  for (const sys::Loop::Event& event : events) engine_.OnEvent(event.token, event.ready);
  engine_.RunReady();
  engine_.SendDeferred();
  return static_cast<int>(events.size());
}

void SessionHarness::Settle() {
  int64_t bytes = PeerBytes();
  for (int quiet = 0; quiet < 5;) {
    const int events = Turn(2 * sys::kNanosPerMilli);
    const int64_t now_bytes = PeerBytes();
    quiet = events == 0 && now_bytes == bytes && engine_.NanosToNext(clock_.Now()) != 0 ? quiet + 1 : 0;
    bytes = now_bytes;
  }
}

void SessionHarness::Advance(int64_t nanos) {
  clock_.Advance(nanos);
  engine_.AdvanceTo(clock_.Now());
}

::testing::AssertionResult SessionHarness::AllGone() {
  const auto gone = [this] { return engine_.running() == 0 && loop_->watches() == 0; };
  if (::testing::AssertionResult result = TurnUntil(gone); !result) return result;
  for (const auto& session : sessions_) {
    if (session->record->ends != 1 || !session->record->destroyed) {
      return ::testing::AssertionFailure() << "told of the end " << session->record->ends << " times, observer "
                                           << (session->record->destroyed ? "gone" : "still there");
    }
  }
  if (engine_.NanosToNext(clock_.Now()) == 0) Turn();  // names of ended sessions may still be on the ready list
  if (engine_.NanosToNext(clock_.Now()) != -1) return ::testing::AssertionFailure() << "a timer is left";
  if (engine_.transfer().rest_bytes() != 0) return ::testing::AssertionFailure() << "rest bytes are left";
  if (engine_.transfer().lent_bytes() != 0) return ::testing::AssertionFailure() << "lent bytes are left";
  if (engine_.stats().running.value() != 0) return ::testing::AssertionFailure() << "running counter";
  return ::testing::AssertionSuccess();
}

int64_t SessionHarness::PeerBytes() const {
  int64_t sum = 0;
  for (const auto& session : sessions_) {
    for (const Peer* peer : {&session->client, &session->upstream}) {
      sum += peer->sent_bytes() + static_cast<int64_t>(peer->received().size()) + (peer->saw_either() ? 1 : 0);
    }
  }
  return sum;
}

std::string SessionHarness::Describe() const {
  std::string text = absl::StrCat("did not happen on ", loop_->name(), ": running ", engine_.running(), ", watches ",
                                  loop_->watches(), ", next ", engine_.NanosToNext(clock_.Now()));
  for (const auto& session : sessions_) {
    const Record& record = *session->record;
    absl::StrAppend(&text, "\n  session: ended ", record.ends, " ", EndCodeName(record.code()), " errno ",
                    record.report.reason.error, ", up ", record.report.from_client.bytes, ", down ",
                    record.report.from_upstream.bytes);
    for (const Peer* peer : {&session->client, &session->upstream}) {
      absl::StrAppend(&text, "\n    ", peer == &session->client ? "client" : "upstream", ": sent ", peer->sent_bytes(),
                      peer->all_sent() ? " (all)" : "", ", received ", peer->received().size(),
                      peer->saw_end() ? ", end" : "", ", error ", peer->error());
    }
  }
  return text;
}

int OpenDescriptors() {
  DIR* folder = opendir("/proc/self/fd");
  int count = -3;  // ".", ".." and the folder itself
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

}  // namespace sluice::relay::testing
