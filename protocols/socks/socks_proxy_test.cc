// The service on a running server, over both loops, with clients and origins on blocking sockets.

#include "protocols/socks/socks_proxy.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protocols/service/server.h"
#include "protocols/service/service_context.h"
#include "protocols/service/snapshot.h"
#include "sys/base/unique_fd.h"
#include "sys/loop/loop_probe.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::socks {
namespace {

using sys::AddressFamily;
using sys::SocketAddress;

std::string Bytes(std::initializer_list<int> values) {
  std::string result;
  for (int value : values) result += static_cast<char>(value);
  return result;
}

// A blocking socket that gives up after five seconds.
class Peer {
 public:
  Peer() = default;
  explicit Peer(int type, int fd = -1) : fd_(fd >= 0 ? fd : socket(AF_INET, type | SOCK_CLOEXEC, 0)) {
    const timeval limit{5, 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  }

  bool Connect(const SocketAddress& address) {
    sockaddr_storage storage;
    const socklen_t length = address.ToSockaddr(storage);
    return connect(fd_.get(), reinterpret_cast<sockaddr*>(&storage), length) == 0;
  }
  void Bind() {
    sockaddr_storage storage;
    const socklen_t length = SocketAddress::Loopback(AddressFamily::kIpv4, 0).ToSockaddr(storage);
    ASSERT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr*>(&storage), length), 0);
  }
  void Listen() {
    Bind();
    ASSERT_EQ(listen(fd_.get(), 16), 0);
  }
  Peer Accept() { return Peer(SOCK_STREAM, accept(fd_.get(), nullptr, nullptr)); }
  SocketAddress Address() const { return SocketAddress::OfSocket(fd_.get()); }

  void Say(const std::string& bytes) {
    ASSERT_EQ(send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  // So many bytes, or fewer where the other side ends.
  std::string Hear(size_t size) {
    std::string result;
    while (result.size() < size) {
      char buffer[4096];
      const ssize_t count = recv(fd_.get(), buffer, std::min(sizeof buffer, size - result.size()), 0);
      if (count < 0 && errno == EINTR) continue;  // the end of a ring of the server before interrupts its maker
      if (count <= 0) break;
      result.append(buffer, static_cast<size_t>(count));
    }
    return result;
  }
  std::string HearDatagram(SocketAddress* from = nullptr) {
    char buffer[4096];
    sockaddr_storage sender;
    socklen_t length = sizeof sender;
    ssize_t count;
    do {
      count = recvfrom(fd_.get(), buffer, sizeof buffer, 0, reinterpret_cast<sockaddr*>(&sender), &length);
    } while (count < 0 && errno == EINTR);
    if (from != nullptr) *from = SocketAddress::FromSockaddr(reinterpret_cast<sockaddr*>(&sender), length);
    return count < 0 ? "nothing came" : std::string(buffer, static_cast<size_t>(count));
  }
  bool Ended() {
    char byte;
    ssize_t count;
    do {
      count = recv(fd_.get(), &byte, 1, 0);
    } while (count < 0 && errno == EINTR);
    return count == 0;
  }

 private:
  sys::UniqueFd fd_;
};

std::string Encoded(const SocketAddress& address) {
  std::string result = Bytes({1});
  const uint32_t ip = address.ipv4();
  for (int shift = 24; shift >= 0; shift -= 8) result += static_cast<char>(ip >> shift);
  return result + Bytes({address.port() >> 8, address.port() & 0xff});
}

SocketAddress Decoded(const std::string& reply) {
  uint32_t ip = 0;
  for (int i = 4; i < 8; ++i) ip = ip << 8 | static_cast<uint8_t>(reply[i]);
  return SocketAddress::Ipv4(
      ip, static_cast<uint16_t>(static_cast<uint8_t>(reply[8]) << 8 | static_cast<uint8_t>(reply[9])));
}

class SocksProxyTest : public ::testing::TestWithParam<sys::Backend> {
 protected:
  void SetUp() override {
    auto loop = sys::ProbeLoop(GetParam());
    if (!loop.ok()) GTEST_SKIP() << "NOT RUN: " << loop.status();
    service::ServerOptions options;
    options.workers = 2;
    options.handshake_threads = 4;
    options.loop = *loop;
    options.make_handler = [](std::shared_ptr<const service::ServiceContext> context) {
      return service::ServiceHandler(std::make_shared<SocksProxy>(std::move(context)));
    };
    options.say = [](const std::string&) {};
    auto server = service::Server::Create(std::move(options));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    auto service = std::make_unique<service::ServiceOptions>();
    service->type = service::ServiceType::kSocks;
    service->log_name = "SOCKS";
    service->listen = SocketAddress::Loopback(AddressFamily::kIpv4, 0);
    service->relay.linger_nanos = sys::kNanosPerSecond;
    auto snapshot = std::make_unique<service::Snapshot>();
    snapshot->services.push_back(std::move(service));
    std::vector<std::string> listening;
    ASSERT_TRUE(server_->Apply(std::move(snapshot), &listening).ok());
    ASSERT_EQ(listening.size(), 1u);
    const uint16_t port = static_cast<uint16_t>(std::stoi(listening[0].substr(listening[0].rfind(':') + 1)));
    proxy_ = SocketAddress::Loopback(AddressFamily::kIpv4, port);
    ASSERT_TRUE(server_->Start().ok());
  }

  // A client that has sent this request behind a greeting, and the reply to it.
  std::pair<Peer, std::string> Ask(const std::string& request) {
    Peer client(SOCK_STREAM);
    EXPECT_TRUE(client.Connect(proxy_));
    client.Say(Bytes({5, 1, 0}));
    EXPECT_EQ(client.Hear(2), Bytes({5, 0}));
    client.Say(request);
    std::string reply = client.Hear(10);
    return {std::move(client), std::move(reply)};
  }

  std::unique_ptr<service::Server> server_;
  SocketAddress proxy_;
};

TEST_P(SocksProxyTest, Connect) {
  Peer origin(SOCK_STREAM);
  origin.Listen();
  auto [client, reply] = Ask(Bytes({5, 1, 0}) + Encoded(origin.Address()) + "early");
  ASSERT_EQ(reply.substr(0, 4), Bytes({5, 0, 0, 1}));
  Peer upstream = origin.Accept();
  EXPECT_EQ(upstream.Hear(5), "early");
  upstream.Say("answer");
  EXPECT_EQ(client.Hear(6), "answer");
}

TEST_P(SocksProxyTest, RefusedAndUnknown) {
  Peer closed(SOCK_STREAM);
  closed.Bind();  // nobody listens
  auto refused = Ask(Bytes({5, 1, 0}) + Encoded(closed.Address()));
  EXPECT_EQ(refused.second, Bytes({5, 5, 0, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(refused.first.Ended());
  auto unknown = Ask(Bytes({5, 9, 0}) + Encoded(closed.Address()));
  EXPECT_EQ(unknown.second, Bytes({5, 7, 0, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_TRUE(unknown.first.Ended());
  auto loop = Ask(Bytes({5, 1, 0}) + Encoded(proxy_));
  EXPECT_EQ(loop.second, Bytes({5, 2, 0, 1, 0, 0, 0, 0, 0, 0}));
}

TEST_P(SocksProxyTest, Bind) {
  auto [client, reply] = Ask(Bytes({5, 2, 0}) + Encoded(SocketAddress::Loopback(AddressFamily::kIpv4, 0)));
  ASSERT_EQ(reply.substr(0, 4), Bytes({5, 0, 0, 1}));
  Peer peer(SOCK_STREAM);
  ASSERT_TRUE(peer.Connect(Decoded(reply)));
  EXPECT_EQ(client.Hear(10), Bytes({5, 0, 0}) + Encoded(peer.Address()));
  peer.Say("data");
  EXPECT_EQ(client.Hear(4), "data");
}

TEST_P(SocksProxyTest, Associate) {
  Peer origin(SOCK_DGRAM);
  origin.Bind();
  auto [control, reply] = Ask(Bytes({5, 3, 0, 1, 0, 0, 0, 0, 0, 0}));
  ASSERT_EQ(reply.substr(0, 4), Bytes({5, 0, 0, 1}));
  Peer client(SOCK_DGRAM);
  ASSERT_TRUE(client.Connect(Decoded(reply)));
  const std::string header = Bytes({0, 0, 0}) + Encoded(origin.Address());
  client.Say(header + "question");
  SocketAddress way_out;
  EXPECT_EQ(origin.HearDatagram(&way_out), "question");
  ASSERT_TRUE(origin.Connect(way_out));
  origin.Say("answer");
  EXPECT_EQ(client.HearDatagram(), header + "answer");
}

TEST_P(SocksProxyTest, ClientsThatLeaveInTheMiddleLeaveNothing) {
  for (const std::string& bytes : {Bytes({5}), Bytes({5, 1, 2}), Bytes({5, 1, 2, 1, 3}), Bytes({4, 1, 0, 80, 1})}) {
    Peer client(SOCK_STREAM);
    ASSERT_TRUE(client.Connect(proxy_));
    client.Say(bytes);
  }
  const sys::MonotonicNanos give_up = sys::Clock::System().Now() + 5 * sys::kNanosPerSecond;
  while (server_->connections() > 0 && sys::Clock::System().Now() < give_up) poll(nullptr, 0, 1);
  EXPECT_EQ(server_->connections(), 0);
}

INSTANTIATE_TEST_SUITE_P(Loops, SocksProxyTest, ::testing::Values(sys::Backend::kUring, sys::Backend::kEpoll));

}  // namespace
}  // namespace sluice::socks
