#include "protocols/socks/wire.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice::socks {
namespace {

using State = Handshake::State;

std::string Bytes(std::initializer_list<int> values) {
  std::string result;
  for (int value : values) result += static_cast<char>(value);
  return result;
}

std::string Named(const std::string& name, int port = 80, int command = 1) {
  return Bytes({5, command, 0, 3, static_cast<int>(name.size())}) + name + Bytes({port >> 8, port & 0xff});
}

const std::string kGreeting = Bytes({5, 1, 0});
const std::string kToLoopback = Bytes({5, 1, 0, 1, 127, 0, 0, 1, 0x1f, 0x90});

struct Outcome {
  State state;
  Fault fault;
  std::string answers;
  size_t taken;
  Request request;
};

Outcome FeedIn(const std::string& bytes, size_t piece, CredentialPolicy policy) {
  Handshake handshake(policy);
  std::string answers;
  size_t taken = 0;
  while (taken < bytes.size() && handshake.state() == State::kReading) {
    const size_t size = std::min(piece, bytes.size() - taken);
    const size_t now = handshake.Feed(absl::string_view(bytes).substr(taken, size));
    taken += now;
    if (handshake.state() == State::kReading) {
      EXPECT_EQ(now, size);
    }
    if (handshake.state() == State::kAsking) handshake.Confirm(handshake.request().password == "secret");
    answers += handshake.TakeAnswer();
  }
  return {handshake.state(), handshake.fault(), answers, taken, handshake.request()};
}

// The outcome, which is the same however the bytes are cut.
Outcome Parse(const std::string& bytes, CredentialPolicy policy = CredentialPolicy::kOffer) {
  Outcome whole = FeedIn(bytes, bytes.size(), policy);
  for (size_t piece : {1, 2, 3, 7}) {
    const Outcome cut = FeedIn(bytes, piece, policy);
    EXPECT_EQ(cut.state, whole.state) << piece;
    EXPECT_EQ(cut.fault, whole.fault) << piece;
    EXPECT_EQ(cut.answers, whole.answers) << piece;
    EXPECT_EQ(cut.taken, whole.taken) << piece;
    EXPECT_EQ(cut.request.host, whole.request.host);
    EXPECT_EQ(cut.request.user, whole.request.user);
    EXPECT_EQ(cut.request.password, whole.request.password);
    EXPECT_EQ(cut.request.address, whole.request.address);
    EXPECT_EQ(cut.request.port, whole.request.port);
  }
  return whole;
}

std::string Refusal5(int code) { return Bytes({5, code, 0, 1, 0, 0, 0, 0, 0, 0}); }
std::string Refusal4() { return Bytes({0, 91, 0, 0, 0, 0, 0, 0}); }

TEST(Socks5, ConnectToAnIpv4Address) {
  const Outcome outcome = Parse(kGreeting + kToLoopback + "payload");
  EXPECT_EQ(outcome.state, State::kComplete);
  EXPECT_EQ(outcome.answers, Bytes({5, 0}));
  EXPECT_EQ(outcome.taken, kGreeting.size() + kToLoopback.size()) << "what follows is not the handshake's";
  EXPECT_EQ(outcome.request.version, 5);
  EXPECT_EQ(outcome.request.command, Command::kConnect);
  EXPECT_EQ(outcome.request.address.ToString(), "127.0.0.1:8080");
  EXPECT_EQ(outcome.request.host, "");
}

TEST(Socks5, ConnectToAnIpv6Address) {
  std::string address(16, '\0');
  address[15] = 1;
  EXPECT_EQ(Parse(kGreeting + Bytes({5, 1, 0, 4}) + address + Bytes({0, 80})).request.address.ToString(), "[::1]:80");
}

TEST(Socks5, MappedAddressIsIpv4) {
  const std::string mapped = std::string(10, '\0') + Bytes({0xff, 0xff, 10, 1, 2, 3});
  EXPECT_EQ(Parse(kGreeting + Bytes({5, 1, 0, 4}) + mapped + Bytes({0, 80})).request.address.ToString(), "10.1.2.3:80");
}

TEST(Socks5, ConnectToAName) {
  const Outcome outcome = Parse(kGreeting + Named("www.example.net", 443));
  EXPECT_EQ(outcome.state, State::kComplete);
  EXPECT_EQ(outcome.request.host, "www.example.net");
  EXPECT_EQ(outcome.request.address.family(), sys::AddressFamily::kNone);
  EXPECT_EQ(outcome.request.port, 443);
}

TEST(Socks5, TextOfAnAddressIsThatAddress) {
  EXPECT_EQ(Parse(kGreeting + Named("127.0.0.1")).request.address.ToString(), "127.0.0.1:80");
  EXPECT_EQ(Parse(kGreeting + Named("[::1]")).request.address.ToString(), "[::1]:80");
  EXPECT_EQ(Parse(kGreeting + Named("::ffff:10.0.0.1")).request.address.ToString(), "10.0.0.1:80");
  EXPECT_EQ(Parse(kGreeting + Named("127.0.0.1")).request.host, "127.0.0.1") << "as the client gave it";
}

TEST(Socks5, LongestNameIsWhole) {
  const std::string name(255, 'a');
  const Outcome outcome = Parse(kGreeting + Named(name));
  EXPECT_EQ(outcome.state, State::kComplete);
  EXPECT_EQ(outcome.request.host, name);
}

TEST(Socks5, NamesThatAreNone) {
  for (const std::string& name : {std::string(), std::string("a\0b.test", 8), std::string("a\r\nHost: x"),
                                  std::string("a\x7f"), std::string("\t")}) {
    const Outcome outcome = Parse(kGreeting + Named(name));
    EXPECT_EQ(outcome.fault, Fault::kName);
    EXPECT_EQ(outcome.answers, Bytes({5, 0}) + Refusal5(4));
    EXPECT_EQ(outcome.request.host, name);
  }
}

TEST(Socks5, NoDestination) {
  for (const std::string& request :
       {Bytes({5, 1, 0, 1, 127, 0, 0, 1, 0, 0}), Bytes({5, 1, 0, 1, 0, 0, 0, 0, 0, 80}), Named("0.0.0.0"), Named("::"),
        Named("name", 0), Bytes({5, 1, 0, 4}) + std::string(16, '\0') + Bytes({0, 80})}) {
    const Outcome outcome = Parse(kGreeting + request);
    EXPECT_EQ(outcome.fault, Fault::kNoDestination);
    EXPECT_EQ(outcome.answers, Bytes({5, 0}) + Refusal5(1));
  }
}

TEST(Socks5, BindAndAssociateMayNameNobody) {
  for (int command : {2, 3}) {
    const Outcome outcome = Parse(kGreeting + Bytes({5, command, 0, 1, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(outcome.state, State::kComplete) << command;
    EXPECT_EQ(static_cast<int>(outcome.request.command), command);
  }
}

TEST(Socks5, UnknownCommandsAndAddressTypes) {
  for (int command : {0, 4, 9, 255}) {
    EXPECT_EQ(Parse(kGreeting + Bytes({5, command, 0, 1, 1, 2, 3, 4, 0, 80})).answers, Bytes({5, 0}) + Refusal5(7));
  }
  for (int type : {0, 2, 5, 9, 255}) {
    const Outcome outcome = Parse(kGreeting + Bytes({5, 1, 0, type}));
    EXPECT_EQ(outcome.answers, Bytes({5, 0}) + Refusal5(8)) << "without waiting for what cannot be understood";
    EXPECT_EQ(outcome.fault, Fault::kAddressType);
  }
}

TEST(Socks5, OtherVersionInTheRequestHasNoAnswer) {
  const Outcome outcome = Parse(kGreeting + Bytes({4, 1, 0, 1}));
  EXPECT_EQ(outcome.fault, Fault::kVersion);
  EXPECT_EQ(outcome.answers, Bytes({5, 0}));
}

TEST(Socks5, Methods) {
  using P = CredentialPolicy;
  struct Case {
    std::vector<int> offered;
    P policy;
    int chosen;
  };
  for (const Case& c : std::vector<Case>{
           {{0}, P::kOffer, 0},
           {{0, 2}, P::kOffer, 2},
           {{1, 2, 128}, P::kOffer, 2},
           {{}, P::kOffer, 255},
           {{128}, P::kOffer, 255},
           {{1}, P::kOffer, 255},
           {{0, 2}, P::kNever, 0},
           {{2}, P::kNever, 255},
           {{0}, P::kRequire, 255},
           {{0, 2}, P::kRequire, 2},
           {{0}, P::kVerify, 255},
           {{0, 2}, P::kVerify, 2},
       }) {
    std::string greeting = Bytes({5, static_cast<int>(c.offered.size())});
    for (int method : c.offered) greeting += static_cast<char>(method);
    const Outcome outcome = Parse(greeting, c.policy);
    EXPECT_EQ(outcome.answers, Bytes({5, c.chosen}));
    EXPECT_EQ(outcome.state, c.chosen == 255 ? State::kFailed : State::kReading);
    if (c.chosen == 255) {
      EXPECT_EQ(outcome.fault, Fault::kNoMethod);
    }
  }
}

TEST(Socks5, AllMethodsAtOnce) {
  std::string greeting = Bytes({5, 255});
  for (int method = 254; method >= 0; --method) greeting += static_cast<char>(method);
  EXPECT_EQ(Parse(greeting + Bytes({1, 0, 0}) + kToLoopback).state, State::kComplete);
}

// -u3: nothing of the request is looked at before the password was.
TEST(Socks5, VerifiedCredentials) {
  const std::string greeting = Bytes({5, 1, 2});
  const std::string right = Bytes({1, 5}) + "alice" + Bytes({6}) + "secret";
  const std::string wrong = Bytes({1, 5}) + "alice" + Bytes({6}) + "Secret";
  const Outcome good = Parse(greeting + right + kToLoopback, CredentialPolicy::kVerify);
  EXPECT_EQ(good.state, State::kComplete);
  EXPECT_EQ(good.answers, Bytes({5, 2, 1, 0}));
  const Outcome bad = Parse(greeting + wrong + kToLoopback, CredentialPolicy::kVerify);
  EXPECT_EQ(bad.fault, Fault::kCredentials);
  EXPECT_EQ(bad.answers, Bytes({5, 2, 1, 1}));
  EXPECT_EQ(bad.taken, greeting.size() + wrong.size());
}

TEST(Socks5, NameAndPassword) {
  const Outcome outcome = Parse(Bytes({5, 2, 0, 2, 1, 5}) + "alice" + Bytes({6}) + "secret" + kToLoopback);
  EXPECT_EQ(outcome.state, State::kComplete);
  EXPECT_EQ(outcome.answers, Bytes({5, 2, 1, 0}));
  EXPECT_EQ(outcome.request.user, "alice");
  EXPECT_EQ(outcome.request.password, "secret");
}

TEST(Socks5, LongestAndEmptyNameAndPassword) {
  const std::string longest(255, 'u');
  const std::string method = Bytes({5, 1, 2});
  const Outcome outcome = Parse(method + Bytes({1, 255}) + longest + Bytes({255}) + longest + kToLoopback);
  EXPECT_EQ(outcome.state, State::kComplete);
  EXPECT_EQ(outcome.request.password, longest);
  EXPECT_EQ(Parse(method + Bytes({1, 0, 0}) + kToLoopback).state, State::kComplete);
}

TEST(Socks5, OtherVersionOfTheSubnegotiation) {
  const Outcome outcome = Parse(Bytes({5, 1, 2, 5, 1, 0}));
  EXPECT_EQ(outcome.fault, Fault::kSubnegotiation);
  EXPECT_EQ(outcome.answers, Bytes({5, 2, 1, 1}));
}

TEST(Socks4, Connect) {
  const Outcome outcome = Parse(Bytes({4, 1, 0, 80, 10, 0, 0, 7}) + "bob" + std::string(1, '\0') + "payload");
  EXPECT_EQ(outcome.state, State::kComplete);
  EXPECT_EQ(outcome.answers, "");
  EXPECT_EQ(outcome.request.version, 4);
  EXPECT_EQ(outcome.request.user, "bob");
  EXPECT_EQ(outcome.request.address.ToString(), "10.0.0.7:80");
  EXPECT_EQ(outcome.taken, 12u);
}

TEST(Socks4, NameFollowsAnImpossibleAddress) {
  const std::string nul(1, '\0');
  const Outcome outcome = Parse(Bytes({4, 1, 1, 187, 0, 0, 0, 1}) + std::string(200, 'u') + nul + "host.test" + nul);
  EXPECT_EQ(outcome.state, State::kComplete);
  EXPECT_EQ(outcome.request.host, "host.test");
  EXPECT_EQ(outcome.request.port, 443);
  EXPECT_EQ(Parse(Bytes({4, 1, 0, 80, 0, 0, 0, 255}) + nul + "127.0.0.1" + nul).request.address.ToString(),
            "127.0.0.1:80");
}

TEST(Socks4, Refused) {
  const std::string nul(1, '\0');
  struct Case {
    std::string bytes;
    Fault fault;
  };
  for (const Case& c : std::vector<Case>{
           {Bytes({4, 1, 0, 80, 0, 0, 0, 0}) + nul, Fault::kNoDestination},
           {Bytes({4, 1, 0, 0, 10, 0, 0, 1}) + nul, Fault::kNoDestination},
           {Bytes({4, 9, 0, 80, 10, 0, 0, 1}) + nul, Fault::kCommand},
           {Bytes({4, 3, 0, 80, 10, 0, 0, 1}) + nul, Fault::kCommand},
           {Bytes({4, 1, 0, 80, 0, 0, 0, 1}) + nul + nul, Fault::kName},
           {Bytes({4, 1, 0, 80, 0, 0, 0, 1}) + nul + "a\nb" + nul, Fault::kName},
       }) {
    const Outcome outcome = Parse(c.bytes);
    EXPECT_EQ(outcome.state, State::kFailed);
    EXPECT_EQ(outcome.fault, c.fault);
    EXPECT_EQ(outcome.answers, Refusal4());
    EXPECT_EQ(outcome.taken, c.bytes.size());
  }
}

TEST(Socks4, StringsEndWithin255Bytes) {
  const std::string head = Bytes({4, 1, 0, 80, 0, 0, 0, 1});
  const std::string nul(1, '\0');
  const std::string longest(255, 'x');
  EXPECT_EQ(Parse(head + longest + nul + longest + nul).state, State::kComplete);
  for (const std::string& endless : {head + std::string(1 << 20, 'x'), head + nul + std::string(1 << 20, 'x')}) {
    const Outcome outcome = Parse(endless);
    EXPECT_EQ(outcome.fault, Fault::kTooLong);
    EXPECT_EQ(outcome.answers, Refusal4());
    EXPECT_LE(outcome.taken, head.size() + 257);
  }
}

TEST(Socks, OtherProtocolsAreNotAnswered) {
  for (const std::string& bytes : {std::string("GET / HTTP/1.1\r\n"), Bytes({0x16, 3, 1}), Bytes({0}), Bytes({6})}) {
    const Outcome outcome = Parse(bytes);
    EXPECT_EQ(outcome.fault, Fault::kVersion);
    EXPECT_EQ(outcome.answers, "");
    EXPECT_EQ(outcome.request.version, 0);
  }
}

TEST(Socks, EveryPrefixWaitsForMore) {
  const std::string whole = Bytes({5, 2, 0, 2, 1, 1}) + "u" + Bytes({1}) + "p" + Named("name.test");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(Parse(whole.substr(0, size)).state, State::kReading) << size;
  }
  EXPECT_EQ(Parse(whole).state, State::kComplete);
}

TEST(Depth, IsToldByAPrivateMethodThatIsNeverChosen) {
  Handshake handshake(CredentialPolicy::kOffer);
  handshake.Feed(std::string("\x05\x02\x00\xe3", 4));
  EXPECT_EQ(handshake.TakeAnswer(), std::string("\x05\x00", 2));
  EXPECT_EQ(handshake.request().depth, 3);
  Handshake alone(CredentialPolicy::kOffer);
  alone.Feed("\x05\x01\xe3");
  EXPECT_EQ(alone.state(), Handshake::State::kFailed);
  Handshake beyond(CredentialPolicy::kOffer);
  beyond.Feed(std::string("\x05\x03\x00\xe0\xff", 5));
  EXPECT_EQ(beyond.request().depth, 0) << "nothing that we would say";
}

}  // namespace
}  // namespace sluice::socks
