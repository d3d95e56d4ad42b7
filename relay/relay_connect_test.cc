// Sessions whose upstream the worker connects to.

#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "relay/testing/loop_fixture.h"

namespace sluice::relay::testing {
namespace {

constexpr int64_t kSecond = sys::kNanosPerSecond;
constexpr int64_t kMilli = sys::kNanosPerMilli;

// A listener that answers nobody: its queue is full, so that the kernel drops what asks for a connection.
class FullListener {
 public:
  explicit FullListener(SocketKind kind) : listener_(Listen(kind, 0)) {
    for (int i = 0; i < 4; ++i) Fill();
  }
  const sys::SocketAddress& address() const { return listener_.address; }
  // Takes what waits, and all that come now.
  void MakeRoom() {
    while (Accept(listener_).valid()) {
    }
  }
  const TestListener& listener() const { return listener_; }

 private:
  void Fill() {
    sockaddr_storage storage;
    const socklen_t length = listener_.address.ToSockaddr(storage);
    sys::UniqueFd fd(socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (connect(fd.get(), reinterpret_cast<sockaddr*>(&storage), length) == 0 || errno == EINPROGRESS) {
      fillers_.push_back(std::move(fd));
    }
  }

  TestListener listener_;
  std::vector<sys::UniqueFd> fillers_;
};

// Nobody listens there.
sys::SocketAddress RefusingAddress(SocketKind kind) { return Listen(kind).address; }

class RelayConnectTest : public RelayLoopTest {
 protected:
  TestSession& Connect(std::vector<sys::SocketAddress> candidates) {
    return harness_->StartConnecting({.candidates = std::move(candidates)}, &options_);
  }
  void AcceptUpstream(TestSession& session, const TestListener& listener) {
    ASSERT_TRUE(TurnUntil([&] {
      sys::UniqueFd fd = Accept(listener);
      if (!fd.valid()) return false;
      session.upstream = Peer(std::move(fd));
      return true;
    }));
  }
  void ExpectExchange(TestSession& session) {
    session.client.Send("ping");
    ASSERT_TRUE(TurnUntil([&] { return session.upstream.received() == "ping"; }));
    session.upstream.Send("pong");
    ASSERT_TRUE(TurnUntil([&] { return session.client.received() == "pong"; }));
    session.client.Finish();
    session.upstream.Finish();
    ASSERT_TRUE(harness_->AllGone());
    EXPECT_EQ(session.record->code(), EndCode::kFinished);
  }
};

INSTANTIATE_TEST_SUITE_P(Loops, RelayConnectTest, ::testing::ValuesIn(sys::testing::kLoopKinds),
                         sys::testing::LoopKindName<::testing::TestParamInfo<sys::testing::LoopKind>>);

TEST_P(RelayConnectTest, ConnectsAndRelays) {
  for (const SocketKind kind : kSocketKinds) {
    const TestListener listener = Listen(kind);
    TestSession& s = Connect({listener.address});
    AcceptUpstream(s, listener);
    ExpectExchange(s);
    ASSERT_EQ(s.record->connected.size(), 1u);
    EXPECT_EQ(s.record->connected[0], listener.address);
    EXPECT_TRUE(s.record->failed.empty());
  }
}

TEST_P(RelayConnectTest, UpstreamThatSpeaksBeforeTheWorkerLooksIsHeard) {
  for (const SocketKind kind : kSocketKinds) {
    const TestListener listener = Listen(kind);
    TestSession& s = Connect({listener.address});
    sys::UniqueFd fd;
    while (!(fd = Accept(listener)).valid()) {  // loopback: there at once
    }
    s.upstream = Peer(std::move(fd));
    s.upstream.Send("220 ready\r\n");
    s.upstream.Finish();
    s.upstream.Work();
    ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end(); }));
    EXPECT_EQ(s.client.received(), "220 ready\r\n");
    s.client.Finish();
    ASSERT_TRUE(harness_->AllGone());
  }
}

TEST_P(RelayConnectTest, WhatTheClientSaysMeanwhileAndItsEndAreKept) {
  FullListener full(SocketKind::kUnix);
  TestSession& s = harness_->StartConnecting({.candidates = {full.address()}, .from_client = "early "}, &options_);
  s.client.Send("late");
  s.client.Finish();
  harness_->Settle();
  EXPECT_FALSE(s.record->ended());
  full.MakeRoom();
  harness_->Advance(Connecting::kUnixRetryMillis * kMilli + kMilli);
  AcceptUpstream(s, full.listener());
  ASSERT_TRUE(TurnUntil([&] { return s.upstream.saw_end(); }));
  EXPECT_EQ(s.upstream.received(), "early late");
  s.upstream.Finish();
  ASSERT_TRUE(harness_->AllGone());
}

TEST_P(RelayConnectTest, RefusedEverywhereIsTold) {
  const sys::SocketAddress first = RefusingAddress(SocketKind::kIpv4);
  const sys::SocketAddress second = RefusingAddress(SocketKind::kIpv6);
  TestSession& s = Connect({first, second});
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->code(), EndCode::kConnectFailed);
  EXPECT_EQ(s.record->report.reason.error, ECONNREFUSED);
  EXPECT_EQ(s.record->report.reason.side, EndSide::kUpstream);
  ASSERT_EQ(s.record->failed.size(), 2u);
  EXPECT_EQ(s.record->failed[0], std::make_pair(first, ECONNREFUSED));
  EXPECT_EQ(s.record->failed[1], std::make_pair(second, ECONNREFUSED));
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end(); }));
}

TEST_P(RelayConnectTest, NextCandidateIsTriedWhenOneRefuses) {
  const TestListener listener = Listen(SocketKind::kIpv4);
  TestSession& s = Connect(
      {*sys::SocketAddress::ParseUnix("/tmp/nobody/is/here"), RefusingAddress(SocketKind::kIpv6), listener.address});
  AcceptUpstream(s, listener);
  ExpectExchange(s);
  ASSERT_EQ(s.record->failed.size(), 2u);
  EXPECT_EQ(s.record->failed[0].second, ENOENT);
  EXPECT_EQ(s.record->failed[1].second, ECONNREFUSED);
}

TEST_P(RelayConnectTest, SilentCandidateIsOvertakenAfterItsTime) {
  FullListener silent(SocketKind::kIpv4);
  const TestListener listener = Listen(SocketKind::kIpv6);
  TestSession& s = Connect({silent.address(), listener.address});
  harness_->Settle();
  harness_->Advance(249 * kMilli);
  harness_->Settle();
  EXPECT_FALSE(Accept(listener).valid()) << "started too early";
  harness_->Advance(2 * kMilli);
  AcceptUpstream(s, listener);
  ExpectExchange(s);
  EXPECT_EQ(s.record->connected, std::vector<sys::SocketAddress>{listener.address});
}

TEST_P(RelayConnectTest, CandidatesStartInTheirOrderOneEach250Millis) {
  FullListener first(SocketKind::kIpv4), second(SocketKind::kIpv4);
  const TestListener third = Listen(SocketKind::kIpv4);
  const TestListener fourth = Listen(SocketKind::kIpv4);
  TestSession& s = Connect({first.address(), second.address(), third.address, fourth.address});
  harness_->Settle();
  harness_->Advance(251 * kMilli);
  harness_->Settle();
  EXPECT_TRUE(s.record->connected.empty());
  EXPECT_EQ(harness_->loop().watches(), 3) << "the client and two attempts";
  harness_->Advance(251 * kMilli);
  AcceptUpstream(s, third);
  EXPECT_FALSE(Accept(fourth).valid());
  ExpectExchange(s);
}

TEST_P(RelayConnectTest, TimeForConnectingRunsOut) {
  options_.connect_nanos = 15 * kSecond;
  FullListener one(SocketKind::kIpv4), two(SocketKind::kIpv6);
  TestSession& s = Connect({one.address(), two.address()});
  harness_->Settle();
  harness_->Advance(14 * kSecond);
  harness_->Settle();
  EXPECT_FALSE(s.record->ended());
  harness_->Advance(kSecond + 2 * kMilli);
  ASSERT_TRUE(s.record->ended());
  EXPECT_EQ(s.record->code(), EndCode::kConnectTimeout);
  EXPECT_EQ(s.record->report.reason.error, ETIMEDOUT);
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end(); }));
  ASSERT_TRUE(harness_->AllGone());
}

TEST_P(RelayConnectTest, AtMostSixteenCandidatesAreTried) {
  std::vector<sys::SocketAddress> candidates;
  for (int i = 0; i < 20; ++i) candidates.push_back(RefusingAddress(SocketKind::kIpv4));
  TestSession& s = Connect(std::move(candidates));
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->failed.size(), 16u);
}

TEST_P(RelayConnectTest, FullUnixListenerIsTriedAgain) {
  FullListener full(SocketKind::kUnix);
  TestSession& s = Connect({full.address()});
  for (int i = 0; i < 5; ++i) {
    harness_->Settle();
    EXPECT_EQ(harness_->loop().watches(), 1) << "only the client";
    EXPECT_LE(harness_->engine().NanosToNext(harness_->now()), 21 * kMilli);
    harness_->Advance(21 * kMilli);
  }
  EXPECT_FALSE(s.record->ended());
  full.MakeRoom();
  harness_->Advance(21 * kMilli);
  AcceptUpstream(s, full.listener());
  ExpectExchange(s);
  EXPECT_TRUE(s.record->failed.empty());
}

TEST_P(RelayConnectTest, ClientThatResetsEndsTheAttempt) {
  FullListener silent(SocketKind::kIpv4);
  TestSession& s = Connect({silent.address(), silent.address()});
  harness_->Settle();
  harness_->Advance(251 * kMilli);
  harness_->Settle();
  s.client.Reset();
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->code(), EndCode::kReadFailed);
  EXPECT_EQ(s.record->report.reason.side, EndSide::kClient);
  EXPECT_EQ(s.record->report.reason.error, ECONNRESET);
}

TEST_P(RelayConnectTest, ConnectionToItselfCountsAsRefused) {
  // The port is free, and the one that the kernel "chooses" for us: made certain by naming it as the source.
  const sys::SocketAddress address = RefusingAddress(SocketKind::kIpv4);
  OutgoingOptions outgoing;
  outgoing.source_ipv4 = address;
  TestSession& s = harness_->StartConnecting({.candidates = {address}, .outgoing = &outgoing}, &options_);
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->code(), EndCode::kConnectFailed);
  EXPECT_EQ(s.record->report.reason.error, ECONNREFUSED);
}

TEST_P(RelayConnectTest, SourceAddressIsTheOneAskedFor) {
  OutgoingOptions outgoing;
  outgoing.source_ipv4 = *sys::SocketAddress::ParseIp("127.0.0.9", 0);
  const TestListener listener = Listen(SocketKind::kIpv4);
  TestSession& s = harness_->StartConnecting({.candidates = {listener.address}, .outgoing = &outgoing}, &options_);
  AcceptUpstream(s, listener);
  EXPECT_EQ(sys::SocketAddress::OfPeer(s.upstream.fd()).IpText(), "127.0.0.9");
  ExpectExchange(s);
}

TEST_P(RelayConnectTest, EndingAllEndsAttempts) {
  FullListener silent(SocketKind::kIpv4);
  TestSession& s =
      harness_->StartConnecting({.candidates = {silent.address()}, .answer_not_connected = "503"}, &options_);
  harness_->Settle();
  harness_->engine().EndAll(EndCode::kShutDown);
  EXPECT_EQ(s.record->code(), EndCode::kShutDown);
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_end(); }));
  ASSERT_TRUE(harness_->AllGone());
}

TEST_P(RelayConnectTest, AnswerComesBeforeWhatTheUpstreamSays) {
  const TestListener listener = Listen(SocketKind::kIpv4);
  TestSession& s =
      harness_->StartConnecting({.candidates = {listener.address}, .answer_connected = "200 OK\r\n\r\n"}, &options_);
  AcceptUpstream(s, listener);
  s.upstream.Send("220 hello");
  ASSERT_TRUE(TurnUntil([&] { return s.client.received() == "200 OK\r\n\r\n220 hello"; }));
  s.client.Finish();
  s.upstream.Finish();
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->report.from_upstream.bytes, 9) << "the answer is ours";
  EXPECT_EQ(s.record->report.from_upstream.unsent_bytes, 0);
}

TEST_P(RelayConnectTest, FailureIsAnsweredThenEnded) {
  TestSession& s = harness_->StartConnecting(
      {.candidates = {RefusingAddress(SocketKind::kIpv4)}, .from_client = "unwanted", .answer_not_connected = "503 no"},
      &options_);
  s.client.Send("more that nobody reads");
  ASSERT_TRUE(TurnUntil([&] { return s.client.saw_either(); }));
  EXPECT_TRUE(s.client.saw_end());
  EXPECT_EQ(s.client.received(), "503 no");
  s.client.Finish();
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->code(), EndCode::kConnectFailed);
  EXPECT_EQ(s.record->report.from_upstream.bytes, 0);
}

TEST_P(RelayConnectTest, ClientThatDoesNotReadItsFailureIsGivenUp) {
  options_.connect_nanos = kSecond;
  FullListener silent(SocketKind::kIpv4);
  TestSession& s = harness_->StartConnecting(
      {.candidates = {silent.address()}, .answer_not_connected = std::string(20'000'000, 'x')}, &options_);
  s.client.PauseReading(true);
  harness_->Settle();
  harness_->Advance(kSecond + 2 * kMilli);
  harness_->Settle();
  EXPECT_FALSE(s.record->ended());
  harness_->Advance(options_.half_closed_idle_nanos + 2 * kMilli);
  ASSERT_TRUE(harness_->AllGone());
  EXPECT_EQ(s.record->code(), EndCode::kConnectTimeout);
}

}  // namespace
}  // namespace sluice::relay::testing
