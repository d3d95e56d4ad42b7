#include "tls/record_engine.h"

#include <sys/ioctl.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "sys/blocking/wait.h"
#include "sys/thread/clock.h"
#include "tls/handshake.h"
#include "tls/testing/both_ends.h"

namespace sluice::tls {
namespace {

using testing::BothEnds;
using testing::Make;
using testing::MakePair;
using testing::TestClient;
using testing::TestServer;

std::string Bytes(size_t size) {
  std::string bytes(size, 0);
  uint32_t state = 1;
  for (char& c : bytes) {
    state = state * 1664525 + 1013904223;
    c = static_cast<char>(state >> 24);
  }
  return bytes;
}

class RecordEngineTest : public ::testing::TestWithParam<uint16_t> {
 protected:
  BothEnds Ends(int buffer_bytes = 0) {
    ServerOptions options = TestServer();
    options.parameters.max_version = GetParam();
    server_ = Make<ServerContext>(options);
    client_ = Make<ClientContext>(TestClient());
    return BothEnds(server_->NewSession(nullptr), *client_->NewSession("localhost", ""), buffer_bytes);
  }

  std::shared_ptr<const ServerContext> server_;
  std::shared_ptr<const ClientContext> client_;
};

INSTANTIATE_TEST_SUITE_P(Versions, RecordEngineTest, ::testing::Values(kTls12, kTls13),
                         [](const auto& info) { return info.param == kTls12 ? "Tls12" : "Tls13"; });

TEST_P(RecordEngineTest, BytesArriveWholeInWhateverPieces) {
  BothEnds ends = Ends();
  ASSERT_TRUE(ends.Handshake());
  const std::string big = Bytes(3'000'000);
  const std::string small = Bytes(3000);
  for (const size_t read : {1ul, 1000ul, 65536ul}) {
    EXPECT_TRUE(ends.ToServer(small, 1, read) == small) << read;
    EXPECT_TRUE(ends.ToClient(small, 1, read) == small) << read;
  }
  for (const size_t piece : {1000ul, 16384ul, 1ul << 20}) {
    EXPECT_TRUE(ends.ToServer(big, piece) == big) << piece;
    EXPECT_TRUE(ends.ToClient(big, piece, 5000) == big) << piece;
  }
  EXPECT_FALSE(ends.server.holds_output());
}

TEST_P(RecordEngineTest, SmallSocketBuffersHoldNothingUp) {
  BothEnds ends = Ends(4608);
  ASSERT_TRUE(ends.Handshake());
  const std::string big = Bytes(1'000'000);
  EXPECT_TRUE(ends.ToServer(big) == big);
  EXPECT_TRUE(ends.ToClient(big, 777, 4096) == big);
}

TEST_P(RecordEngineTest, StalledReaderCostsTwoRecords) {
  BothEnds ends = Ends(4608);
  ASSERT_TRUE(ends.Handshake());
  const std::string big = Bytes(1'000'000);
  size_t taken = 0;
  int64_t took;
  while ((took = ends.server.Write(ends.sockets.a.get(), big.data() + taken, big.size() - taken)) > 0) {
    taken += static_cast<size_t>(took);
  }
  EXPECT_EQ(took, -EAGAIN);
  EXPECT_TRUE(ends.server.holds_output());
  EXPECT_LE(taken, 200'000u);
  // All that was taken arrives, and nothing else.
  std::string arrived;
  std::vector<char> buffer(65536);
  for (int i = 0; i < 10'000 && arrived.size() < taken; ++i) {
    ends.server.Flush(ends.sockets.a.get());
    const auto got = ends.client.Read(ends.sockets.b.get(), buffer.data(), buffer.size(), false);
    if (got.bytes == -EAGAIN) continue;  // the rest of a record
    ASSERT_GT(got.bytes, 0);
    arrived.append(buffer.data(), static_cast<size_t>(got.bytes));
  }
  EXPECT_TRUE(arrived == big.substr(0, taken));
}

TEST_P(RecordEngineTest, EachDirectionEndsByItself) {
  BothEnds ends = Ends();
  ASSERT_TRUE(ends.Handshake());
  const int server = ends.sockets.a.get();
  const int client = ends.sockets.b.get();
  char buffer[100];
  ASSERT_EQ(ends.client.Write(client, "bye", 3), 3);
  ASSERT_EQ(ends.client.End(client), 0);
  shutdown(client, SHUT_WR);
  EXPECT_EQ(ends.server.Read(server, buffer, sizeof buffer, false).bytes, 3);
  EXPECT_EQ(ends.server.Read(server, buffer, sizeof buffer, false).bytes, 0);
  EXPECT_EQ(ends.server.Read(server, buffer, sizeof buffer, false).bytes, 0) << "and again";
  EXPECT_EQ(ends.client.Write(client, "x", 1), -EPIPE);
  EXPECT_EQ(ends.ToClient("still here"), "still here");
  ASSERT_EQ(ends.server.End(server), 0);
  ASSERT_EQ(ends.server.End(server), 0) << "said once";
  EXPECT_EQ(ends.client.Read(client, buffer, sizeof buffer, false).bytes, 0);
}

TEST_P(RecordEngineTest, EndWithoutCloseNotifyIsATruncation) {
  for (const bool in_a_record : {false, true}) {
    BothEnds ends = Ends();
    ASSERT_TRUE(ends.Handshake());
    const std::string sent = "whole";
    ASSERT_EQ(ends.client.Write(ends.sockets.b.get(), sent.data(), sent.size()), 5);
    if (in_a_record) {
      ASSERT_EQ(send(ends.sockets.b.get(), "\x17\x03\x03\x00\x30half", 9, 0), 9);
    }
    shutdown(ends.sockets.b.get(), SHUT_WR);
    char buffer[100];
    EXPECT_EQ(ends.server.Read(ends.sockets.a.get(), buffer, sizeof buffer, false).bytes, 5);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(ends.server.Read(ends.sockets.a.get(), buffer, sizeof buffer, false).bytes, -RecordEngine::kTruncated);
    }
  }
}

TEST_P(RecordEngineTest, ForeignBytesEndTheSessionWithAnAlert) {
  BothEnds ends = Ends();
  ASSERT_TRUE(ends.Handshake());
  const std::string foreign = std::string("\x17\x03\x03\x00\x30", 5) + std::string(48, 'x');
  ASSERT_EQ(send(ends.sockets.b.get(), foreign.data(), foreign.size(), 0), 53);
  char buffer[100];
  EXPECT_EQ(ends.server.Read(ends.sockets.a.get(), buffer, sizeof buffer, false).bytes, -RecordEngine::kBroken);
  EXPECT_FALSE(ends.server.fault().empty());
  EXPECT_EQ(ends.client.Read(ends.sockets.b.get(), buffer, sizeof buffer, false).bytes, -RecordEngine::kBroken)
      << "it hears the alert";
}

TEST_P(RecordEngineTest, ShortReadSavesACallAndLosesNothing) {
  BothEnds ends = Ends();
  ASSERT_TRUE(ends.Handshake());
  ASSERT_EQ(ends.client.Write(ends.sockets.b.get(), "abc", 3), 3);
  char buffer[100];
  const auto got = ends.server.Read(ends.sockets.a.get(), buffer, sizeof buffer, true);
  EXPECT_EQ(got.bytes, 3);
  EXPECT_TRUE(got.drained);
  // More plaintext than is asked for: it is not drained.
  ASSERT_EQ(ends.client.Write(ends.sockets.b.get(), "abc", 3), 3);
  EXPECT_FALSE(ends.server.Read(ends.sockets.a.get(), buffer, 2, true).drained);
  const auto rest = ends.server.Read(ends.sockets.a.get(), buffer, sizeof buffer, true);
  EXPECT_EQ(rest.bytes, 1);
}

TEST(RecordEngineKeyTest, KeysChangeUnderWay) {
  const auto server = Make<ServerContext>(TestServer());
  const auto client = Make<ClientContext>(TestClient());
  BothEnds ends(server->NewSession(nullptr), *client->NewSession("localhost", ""));
  ASSERT_TRUE(ends.Handshake());
  const std::string bytes = Bytes(100'000);
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(SSL_key_update(ends.client.ssl(), SSL_KEY_UPDATE_REQUESTED), 1);
    EXPECT_TRUE(ends.ToServer(bytes) == bytes);
    ASSERT_EQ(SSL_key_update(ends.server.ssl(), i % 2 == 0 ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED),
              1);
    EXPECT_TRUE(ends.ToClient(bytes) == bytes);
  }
}

TEST(RecordEngineKeyTest, TicketComesWithTheFirstData) {
  const auto server = Make<ServerContext>(TestServer());
  const auto client = Make<ClientContext>(TestClient());
  BothEnds ends(server->NewSession(nullptr), *client->NewSession("localhost", ""));
  ASSERT_TRUE(ends.Handshake());
  int waiting = -1;
  ASSERT_EQ(ioctl(ends.sockets.b.get(), FIONREAD, &waiting), 0);
  EXPECT_EQ(waiting, 0) << "nobody who only sends finds something unread at the end";
  EXPECT_EQ(ends.ToClient("x"), "x");
  EXPECT_EQ(client->sessions().identities(), 1u);
}

TEST_P(RecordEngineTest, RenegotiationIsRefused) {
  if (GetParam() != kTls12) return;
  BothEnds ends = Ends();
  ASSERT_TRUE(ends.Handshake());
  SSL_clear_options(ends.client.ssl(), SSL_OP_NO_RENEGOTIATION);
  ASSERT_EQ(SSL_renegotiate(ends.client.ssl()), 1);
  ends.client.Handshake(ends.sockets.b.get());
  char buffer[100];
  EXPECT_EQ(ends.server.Read(ends.sockets.a.get(), buffer, sizeof buffer, false).bytes, -EAGAIN);
  EXPECT_EQ(ends.client.Handshake(ends.sockets.b.get()), RecordEngine::Progress::kFailed);
}

// --- Handshakes on threads.

// What the client sends goes byte by byte, in both directions.
TEST_P(RecordEngineTest, HandshakeByteByByte) {
  ServerOptions options = TestServer();
  options.parameters.max_version = GetParam();
  server_ = Make<ServerContext>(options);
  client_ = Make<ClientContext>(TestClient());
  testing::SocketPair outer = MakePair();
  testing::SocketPair inner = MakePair();
  const sys::MonotonicNanos deadline = sys::Clock::System().Now() + 20 * sys::kNanosPerSecond;
  Established accepted;
  Established connected;
  std::thread server([&] { accepted = Accept(*server_, inner.a.get(), nullptr, deadline, nullptr); });
  std::thread client([&] { connected = Connect(*client_, outer.a.get(), "localhost", "", deadline, nullptr); });
  std::atomic<bool> over{false};
  std::thread between([&] {
    while (!over) {
      char byte;
      bool moved = false;
      for (const auto& [from, to] :
           {std::pair<int, int>{outer.b.get(), inner.b.get()}, {inner.b.get(), outer.b.get()}}) {
        if (recv(from, &byte, 1, 0) == 1) {
          moved = true;
          // A byte each takes much of the socket's memory.
          while (send(to, &byte, 1, MSG_NOSIGNAL) < 0 && errno == EAGAIN && !over) std::this_thread::yield();
        }
      }
      if (!moved) std::this_thread::yield();
    }
  });
  server.join();
  client.join();
  over = true;
  between.join();
  ASSERT_NE(accepted.engine, nullptr) << accepted.fault;
  ASSERT_NE(connected.engine, nullptr) << connected.fault;
  EXPECT_EQ(accepted.Description(), connected.Description());
}

TEST(HandshakeTest, EndsByItsDeadlineHoweverTheOtherSideDrips) {
  const auto server = Make<ServerContext>(TestServer());
  testing::SocketPair pair = MakePair();
  ASSERT_EQ(send(pair.b.get(), "\x16\x03\x01\x02\x00\x01", 6, 0), 6);  // a hello that begins and does not go on
  const sys::MonotonicNanos begin = sys::Clock::System().Now();
  const Established result = Accept(*server, pair.a.get(), nullptr, begin + 50 * sys::kNanosPerMilli, nullptr);
  EXPECT_EQ(result.engine, nullptr);
  EXPECT_EQ(result.error, ETIMEDOUT);
  EXPECT_LT(sys::Clock::System().Now() - begin, 10 * sys::kNanosPerSecond);
}

TEST(HandshakeTest, SaysWhatWasWrong) {
  const auto server = Make<ServerContext>(TestServer());
  const sys::MonotonicNanos deadline = sys::Clock::System().Now() + 20 * sys::kNanosPerSecond;
  testing::SocketPair plain = MakePair();
  ASSERT_EQ(send(plain.b.get(), "GET / HTTP/1.1\r\n\r\n", 18, 0), 18);
  Established result = Accept(*server, plain.a.get(), nullptr, deadline, nullptr);
  EXPECT_EQ(result.error, EPROTO);
  EXPECT_EQ(result.fault, "http request");

  testing::SocketPair gone = MakePair();
  gone.b.reset();
  result = Accept(*server, gone.a.get(), nullptr, deadline, nullptr);
  EXPECT_EQ(result.fault, "the connection ended in the handshake");

  sys::Cancellation cancellation;
  cancellation.Cancel();
  testing::SocketPair silent = MakePair();
  EXPECT_EQ(Accept(*server, silent.a.get(), nullptr, deadline, &cancellation).error, ECANCELED);
}

}  // namespace
}  // namespace sluice::tls
