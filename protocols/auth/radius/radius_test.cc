#include <sys/socket.h>

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "protocols/auth/radius/packet.h"
#include "protocols/auth/radius/radius_client.h"
#include "protocols/auth/radius/testing/answer.h"
#include "sys/base/unique_fd.h"
#include "sys/thread/mutex.h"

namespace sluice::auth::radius {
namespace {

constexpr char kSecret[] = "xyzzy5461";
constexpr int64_t kSecond = sys::kNanosPerSecond;

Authenticator Bytes16(absl::string_view hex) {
  Authenticator bytes{};
  const std::string raw = absl::HexStringToBytes(hex);
  std::copy(raw.begin(), raw.end(), bytes.begin());
  return bytes;
}

// Attributes of a packet, the last of each type.
std::map<int, std::string> AttributesOf(absl::string_view packet) {
  std::map<int, std::string> attributes;
  for (size_t at = kHeaderBytes; at + 2 <= packet.size();) {
    const size_t size = static_cast<uint8_t>(packet[at + 1]);
    EXPECT_GE(size, 2u);
    EXPECT_LE(at + size, packet.size()) << "malformed";
    if (size < 2) break;
    attributes[static_cast<uint8_t>(packet[at])] = std::string(packet.substr(at + 2, size - 2));
    at += size;
  }
  return attributes;
}

// RFC 2865 section 7.1 has this request and its hidden password.
TEST(RadiusPacket, PasswordIsHiddenAsInTheStandardsExample) {
  Request request(Code::kAccessRequest, 0, Bytes16("0f403f9473978057bd83d5cb98f4227a"));
  ASSERT_TRUE(request.AddPassword("arctangent", kSecret));
  const auto attributes = AttributesOf(request.Seal(kSecret));
  EXPECT_EQ(absl::BytesToHexString(attributes.at(2)), "0dbe708d93d413ce3196e43f782a0aee");
}

TEST(RadiusPacket, PasswordsOfAllLengthsTakeWholeBlocks) {
  for (const auto& [length, hidden] :
       std::map<size_t, size_t>{{0, 16}, {1, 16}, {15, 16}, {16, 16}, {17, 32}, {127, 128}, {128, 128}}) {
    Request request(Code::kAccessRequest, 0, Authenticator{});
    ASSERT_TRUE(request.AddPassword(std::string(length, 'p'), kSecret)) << length;
    EXPECT_EQ(AttributesOf(request.Seal(kSecret)).at(2).size(), hidden) << length;
  }
  Request request(Code::kAccessRequest, 0, Authenticator{});
  EXPECT_FALSE(request.AddPassword(std::string(129, 'p'), kSecret));
}

TEST(RadiusPacket, MessageAuthenticatorComesFirstAndAlways) {
  Request request(Code::kAccessRequest, 9, Authenticator{});
  request.Add(Attribute::kUserName, "bob");
  const std::string packet = request.Seal(kSecret);
  EXPECT_EQ(packet[20], 80);
  EXPECT_EQ(packet.size(), 20u + 18 + 5);
  EXPECT_EQ(static_cast<uint8_t>(packet[3]), packet.size());
}

TEST(RadiusPacket, LongValuesAreCutAndTheRestLeftOut) {
  Request request(Code::kAccessRequest, 9, Authenticator{});
  for (int i = 0; i < 30; ++i) request.Add(Attribute::kCalledStationId, std::string(300, 'h'));
  const std::string packet = request.Seal(kSecret);
  EXPECT_LE(packet.size(), kMostPacketBytes);
  EXPECT_EQ(AttributesOf(packet).at(30).size(), 253u);
}

TEST(RadiusPacket, AnswersThatDoNotFitAreNotBelieved) {
  Request request(Code::kAccessRequest, 9, Bytes16("00112233445566778899aabbccddeeff"));
  request.Seal(kSecret);
  const std::string attributes = MakeAttribute(Attribute::kReplyMessage, "010 over quota") +
                                 MakeAttribute(Attribute::kFramedIpAddress, std::string("\xc0\x00\x02\x07", 4));
  const std::string good = MakeAnswer(Code::kAccessReject, request, kSecret, attributes, true);
  Response response;
  ASSERT_EQ(ParseResponse(good, request, kSecret, response), nullptr);
  EXPECT_EQ(response.reply_message, "010 over quota");
  EXPECT_EQ(response.framed_ipv4->IpText(), "192.0.2.7");
  EXPECT_EQ(ParseResponse(good + "padding", request, kSecret, response), nullptr);

  for (size_t i = 0; i < good.size(); ++i) {
    std::string changed = good;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_NE(ParseResponse(changed, request, kSecret, response), nullptr) << "byte " << i;
    EXPECT_NE(ParseResponse(good.substr(0, i), request, kSecret, response), nullptr) << "cut at " << i;
  }
  EXPECT_NE(ParseResponse(good, request, "other secret", response), nullptr);
  Request other(Code::kAccessRequest, 9, Authenticator{});
  EXPECT_NE(ParseResponse(good, other, kSecret, response), nullptr) << "to another request";
}

TEST(RadiusPacket, AnswerWithoutMessageAuthenticatorIsForged) {
  Request request(Code::kAccessRequest, 9, Authenticator{});
  request.Seal(kSecret);
  Response response;
  for (const Code code : {Code::kAccessAccept, Code::kAccessReject, Code::kAccessChallenge}) {
    const char* fault = ParseResponse(MakeAnswer(code, request, kSecret, "", false), request, kSecret, response);
    ASSERT_NE(fault, nullptr);
    EXPECT_TRUE(absl::StrContains(fault, "CVE-2024-3596"));
    EXPECT_EQ(ParseResponse(MakeAnswer(code, request, kSecret, "", true), request, kSecret, response), nullptr);
  }
  EXPECT_EQ(
      ParseResponse(MakeAnswer(Code::kAccountingResponse, request, kSecret, "", false), request, kSecret, response),
      nullptr);
  EXPECT_NE(ParseResponse(MakeAnswer(Code::kAccessRequest, request, kSecret, "", true), request, kSecret, response),
            nullptr);
}

TEST(RadiusPacket, AccountingIsSignedAsAWhole) {
  Request request(Code::kAccountingRequest, 1, Authenticator{});
  request.AddNumber(Attribute::kAcctStatusType, 2);
  const std::string packet = request.Seal(kSecret);
  EXPECT_EQ(packet.substr(4, 16), std::string(request.authenticator().begin(), request.authenticator().end()));
  EXPECT_EQ(AttributesOf(packet).count(80), 0u);
}

TEST(RadiusClient, ReplyMessageMaySayACode) {
  for (const auto& [text, code] :
       std::map<std::string, int>{{"10", 10}, {"010 over quota", 10}, {"3", 3}, {"no", 0}, {"", 0}, {"12345", 0}}) {
    EXPECT_EQ(CodeOfReplyMessage(text), code) << text;
  }
}

// A server as a function from request to answer; an empty answer is silence.
class FakeServer {
 public:
  using Handler = std::function<std::string(const std::string& request)>;

  explicit FakeServer(Handler handler) : handler_(std::move(handler)) {
    fd_ = sys::UniqueFd(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_storage storage;
    const socklen_t length = sys::SocketAddress::Loopback(sys::AddressFamily::kIpv4, 0).ToSockaddr(storage);
    EXPECT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr*>(&storage), length), 0);
    address_ = sys::SocketAddress::OfSocket(fd_.get());
    thread_ = std::thread([this] { Run(); });
  }
  ~FakeServer() {
    stop_.Cancel();
    thread_.join();
  }
  const sys::SocketAddress& address() const { return address_; }
  std::vector<std::string> Requests() {
    const sys::MutexLock lock(mutex_);
    return requests_;
  }

 private:
  void Run() {
    while (sys::WaitUntilReady(fd_.get(), sys::Direction::kRead, sys::kNoDeadline, &stop_) == 0) {
      char buffer[4096];
      sockaddr_storage from;
      socklen_t length = sizeof(from);
      const ssize_t got = recvfrom(fd_.get(), buffer, sizeof(buffer), 0, reinterpret_cast<sockaddr*>(&from), &length);
      if (got < 0) continue;
      const std::string request(buffer, static_cast<size_t>(got));
      {
        const sys::MutexLock lock(mutex_);
        requests_.push_back(request);
      }
      const std::string answer = handler_(request);
      if (answer.empty()) continue;
      sendto(fd_.get(), answer.data(), answer.size(), 0, reinterpret_cast<sockaddr*>(&from), length);
    }
  }

  const Handler handler_;
  sys::Cancellation stop_;
  sys::UniqueFd fd_;
  sys::SocketAddress address_;
  sys::Mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

std::string AnswerTo(const std::string& request, Code code, const std::string& attributes = "",
                     const std::string& secret = kSecret) {
  Authenticator authenticator;
  std::copy_n(request.begin() + 4, 16, authenticator.begin());
  return MakeAnswer(code, static_cast<uint8_t>(request[1]), authenticator, secret, attributes, true);
}

class RadiusClientTest : public ::testing::Test {
 protected:
  Answer Ask(std::vector<sys::SocketAddress> servers) {
    if (client_ == nullptr) {
      Options options;
      options.secret = kSecret;
      for (const sys::SocketAddress& address : servers) options.servers.push_back({address, std::nullopt});
      client_ = std::make_unique<Client>(
          options, [this](const std::string& line) { said_.push_back(line); }, 100 * sys::kNanosPerMilli);
    }
    return client_->Ask(question_, sys::Clock::System().Now() + 20 * kSecond, &cancellation_);
  }

  Question question_ = {"bob",
                        "secret",
                        *sys::SocketAddress::ParseIp("192.0.2.9", 1111),
                        "www.example.com",
                        *sys::SocketAddress::ParseIp("2001:db8::1", 443),
                        443,
                        access::Operation::kHttpConnect,
                        "PROXY",
                        *sys::SocketAddress::ParseIp("192.0.2.1", 3128)};
  std::unique_ptr<Client> client_;
  sys::Cancellation cancellation_;
  std::vector<std::string> said_;
};

TEST_F(RadiusClientTest, AcceptedWithAnAddressToGoOutFrom) {
  FakeServer server([](const std::string& request) {
    return AnswerTo(request, Code::kAccessAccept,
                    MakeAttribute(Attribute::kFramedIpAddress, std::string("\xc0\x00\x02\x07", 4)));
  });
  const Answer answer = Ask({server.address()});
  EXPECT_EQ(answer.kind, Answer::Kind::kAccepted);
  EXPECT_EQ(answer.outgoing_ipv4->IpText(), "192.0.2.7");
  const auto sent = AttributesOf(server.Requests().at(0));
  EXPECT_EQ(sent.at(1), "bob");
  EXPECT_EQ(sent.at(30), "www.example.com");
  EXPECT_EQ(sent.at(32), "PROXY");
  EXPECT_EQ(absl::BytesToHexString(sent.at(5)), "00000c38");
  EXPECT_EQ(absl::BytesToHexString(sent.at(6)), "00000008");
  EXPECT_EQ(absl::BytesToHexString(sent.at(8)), "c0000209");
  EXPECT_EQ(absl::BytesToHexString(sent.at(61)), "00000005");
  EXPECT_EQ(sent.at(98).size(), 16u);
  EXPECT_EQ(sent.count(80), 1u);
  EXPECT_FALSE(absl::StrContains(server.Requests().at(0), "secret"));
}

TEST_F(RadiusClientTest, RejectedWithACode) {
  FakeServer server([](const std::string& request) {
    return AnswerTo(request, Code::kAccessReject, MakeAttribute(Attribute::kReplyMessage, "010"));
  });
  const Answer answer = Ask({server.address()});
  EXPECT_EQ(answer.kind, Answer::Kind::kRejected);
  EXPECT_EQ(answer.code, 10);
}

TEST_F(RadiusClientTest, ChallengeIsNoAcceptance) {
  FakeServer server([](const std::string& request) { return AnswerTo(request, Code::kAccessChallenge); });
  EXPECT_EQ(Ask({server.address()}).kind, Answer::Kind::kRejected);
}

TEST_F(RadiusClientTest, LostRequestIsSentAgainAsItWas) {
  std::atomic<int> count{0};
  FakeServer server(
      [&](const std::string& request) { return ++count < 2 ? std::string() : AnswerTo(request, Code::kAccessAccept); });
  EXPECT_EQ(Ask({server.address()}).kind, Answer::Kind::kAccepted);
  ASSERT_EQ(server.Requests().size(), 2u);
  EXPECT_EQ(server.Requests()[0], server.Requests()[1]) << "the same identifier and authenticator";
}

TEST_F(RadiusClientTest, NextServerIsAskedAndASilentOneLastFromThenOn) {
  sys::UniqueFd nobody(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));  // a port that refuses
  sockaddr_storage storage;
  const socklen_t length = sys::SocketAddress::Loopback(sys::AddressFamily::kIpv4, 0).ToSockaddr(storage);
  ASSERT_EQ(bind(nobody.get(), reinterpret_cast<sockaddr*>(&storage), length), 0);
  const sys::SocketAddress dead = sys::SocketAddress::OfSocket(nobody.get());
  nobody.reset();
  FakeServer server([](const std::string& request) { return AnswerTo(request, Code::kAccessAccept); });
  EXPECT_EQ(Ask({dead, server.address()}).kind, Answer::Kind::kAccepted);
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_TRUE(absl::StrContains(said_[0], "does not answer"));
  EXPECT_EQ(Ask({}).kind, Answer::Kind::kAccepted);
  EXPECT_EQ(server.Requests().size(), 2u);
}

TEST_F(RadiusClientTest, WrongSecretIsToldApartFromSilence) {
  FakeServer server(
      [](const std::string& request) { return AnswerTo(request, Code::kAccessAccept, "", "another secret"); });
  client_ = nullptr;
  Options options;
  options.secret = kSecret;
  options.servers.push_back({server.address(), std::nullopt});
  client_ = std::make_unique<Client>(
      options, [this](const std::string& line) { said_.push_back(line); }, 100 * sys::kNanosPerMilli);
  EXPECT_EQ(client_->Ask(question_, sys::Clock::System().Now() + 20 * kSecond, &cancellation_).kind,
            Answer::Kind::kUnreachable);
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_TRUE(absl::StrContains(said_[0], "its authenticator is wrong")) << said_[0];
}

TEST_F(RadiusClientTest, WhatDoesNotFitIsNotAsked) {
  FakeServer server([](const std::string& request) { return AnswerTo(request, Code::kAccessAccept); });
  question_.user = std::string(254, 'u');
  EXPECT_EQ(Ask({server.address()}).kind, Answer::Kind::kUnaskable);
  question_.user = std::string(253, 'u');
  question_.password = std::string(129, 'p');
  EXPECT_EQ(Ask({}).kind, Answer::Kind::kUnaskable);
  question_.password = std::string(128, 'p');
  question_.host = std::string(255, 'h');
  EXPECT_EQ(Ask({}).kind, Answer::Kind::kAccepted);
}

TEST_F(RadiusClientTest, AccountingGoesToTheNextPort) {
  // Two ports in a row: the upper one is the accounting server's.
  FakeServer server([](const std::string& request) {
    Authenticator authenticator;
    std::copy_n(request.begin() + 4, 16, authenticator.begin());
    return MakeAnswer(Code::kAccountingResponse, static_cast<uint8_t>(request[1]), authenticator, kSecret, "", false);
  });
  sys::SocketAddress below = server.address();
  below.set_port(static_cast<uint16_t>(below.port() - 1));
  Options options;
  options.secret = kSecret;
  options.servers.push_back({below, std::nullopt});
  Client client(options, nullptr);
  EXPECT_TRUE(client.Account([](Request& request) { request.AddNumber(Attribute::kAcctStatusType, 1); },
                             sys::Clock::System().Now() + 20 * kSecond, &cancellation_));
  EXPECT_EQ(server.Requests().at(0)[0], 4);
}

TEST_F(RadiusClientTest, ShutdownEndsTheWait) {
  FakeServer server([this](const std::string&) {
    cancellation_.Cancel();
    return std::string();
  });
  EXPECT_EQ(Ask({server.address()}).kind, Answer::Kind::kUnreachable);
  EXPECT_EQ(server.Requests().size(), 1u);
}

}  // namespace
}  // namespace sluice::auth::radius
