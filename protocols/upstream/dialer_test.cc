#include "protocols/upstream/dialer.h"

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sys/blocking/deadline_stream.h"
#include "sys/net/listen_socket.h"

namespace sluice::upstream {
namespace {

constexpr int64_t kSecond = sys::kNanosPerSecond;

// A parent as a script: called with each connection that comes, one after the other.
class FakeParent {
 public:
  using Script = std::function<void(sys::DeadlineStream&)>;

  explicit FakeParent(Script script) : script_(std::move(script)) {
    sys::ListenOptions options;
    options.address = sys::SocketAddress::Loopback(sys::AddressFamily::kIpv4, 0);
    options.reuse_port = false;
    listener_ = *sys::OpenListener(options);
    address_ = sys::SocketAddress::OfSocket(listener_.get());
    thread_ = std::thread([this] { Run(); });
  }
  ~FakeParent() {
    stop_.Cancel();
    thread_.join();
  }

  const sys::SocketAddress& address() const { return address_; }
  int connections() const { return connections_; }

 private:
  void Run() {
    for (;;) {
      if (sys::WaitUntilReady(listener_.get(), sys::Direction::kRead, sys::kNoDeadline, &stop_) != 0) return;
      sys::ErrnoOr<sys::Accepted> accepted = sys::AcceptFrom(listener_.get());
      if (!accepted.ok()) continue;
      ++connections_;
      sys::DeadlineStream stream(accepted->fd.get(), sys::Clock::System().Now() + 20 * kSecond, &stop_);
      script_(stream);
    }
  }

  const Script script_;
  sys::Cancellation stop_;
  sys::UniqueFd listener_;
  sys::SocketAddress address_;
  std::atomic<int> connections_{0};
  std::thread thread_;
};

// Waits for `expected`, of so many bytes, and answers.
void Exchange(sys::DeadlineStream& stream, absl::string_view expected, absl::string_view answer) {
  std::string got(expected.size(), ' ');
  ASSERT_TRUE(stream.ReadExactly(absl::MakeSpan(&got[0], got.size())).ok());
  EXPECT_EQ(got, expected);
  ASSERT_TRUE(stream.WriteAll(answer).ok());
}

std::string Raw(std::initializer_list<int> bytes) {
  std::string result;
  for (const int byte : bytes) result += static_cast<char>(byte);
  return result;
}

const std::string kConsent = Raw({5, 0, 0, 1, 0, 0, 0, 0, 0, 0});

std::string PortOf(uint16_t port) { return Raw({port >> 8, port & 0xff}); }

// SOCKS 5 that is asked for 192.0.2.7:80 and does as if it were connected to somebody who greets.
void GreetingSocks(sys::DeadlineStream& stream) {
  Exchange(stream, Raw({5, 2, 0, 0xe1}), Raw({5, 0}));
  Exchange(stream, Raw({5, 1, 0, 1, 192, 0, 2, 7, 0, 80}), kConsent + "BANNER");
}

class DialerTest : public ::testing::Test {
 protected:
  static Parent ParentAt(ParentType type, const sys::SocketAddress& address, int weight = 1000) {
    Parent parent;
    parent.weight = weight;
    parent.type = type;
    parent.word = "kind";
    parent.address = address;
    parent.port = address.port();
    return parent;
  }
  void Use(Parent parent) { ASSERT_TRUE(list_.Append(std::move(parent)).ok()); }
  Dialed Go() {
    DialRequest& request = request_;
    request.parents = &list_;
    if (request.destination.port == 0) {
      request.destination = {"", *sys::SocketAddress::ParseIp("192.0.2.7", 80), 80};
    }
    request.client = *sys::SocketAddress::ParseIp("192.0.2.9", 1111);
    request.local = *sys::SocketAddress::ParseIp("192.0.2.1", 3128);
    const auto resolve = [this](const std::string& name) {
      resolved_.push_back(name);
      return name == "parent.example" ? std::vector<sys::SocketAddress>{named_} : std::vector<sys::SocketAddress>();
    };
    DialOptions options{&outgoing_, resolve, &health_};
    options.chain_nanos = chain_nanos_;
    options.connect_nanos = 5 * kSecond;
    options.retries = retries_;
    options.own_name = "here:1";
    options.cancellation = &cancellation_;
    return Dial(request, options);
  }
  static std::string EarlyOf(Dialed& dialed, size_t bytes) {
    sys::DeadlineStream stream(dialed.fd.get(), sys::Clock::System().Now() + 10 * kSecond);
    std::string rest(bytes - dialed.early.size(), ' ');
    if (!rest.empty() && !stream.ReadExactly(absl::MakeSpan(&rest[0], rest.size())).ok()) return "lost";
    return dialed.early + rest;
  }

  ParentList list_;
  DialRequest request_;
  relay::OutgoingOptions outgoing_;
  ParentHealth health_{nullptr};
  sys::Cancellation cancellation_;
  sys::SocketAddress named_;
  std::vector<std::string> resolved_;
  int64_t chain_nanos_ = 10 * kSecond;
  int retries_ = 2;
};

// An address that nobody listens on, and nobody will while the holder lives.
struct DeadEnd {
  DeadEnd() {
    fd = sys::UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_storage storage;
    const socklen_t length = sys::SocketAddress::Loopback(sys::AddressFamily::kIpv4, 0).ToSockaddr(storage);
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&storage), length), 0);
    address = sys::SocketAddress::OfSocket(fd.get());
  }
  sys::UniqueFd fd;
  sys::SocketAddress address;
};

TEST_F(DialerTest, BytesBehindTheConsentAreTheTunnels) {
  FakeParent parent(GreetingSocks);
  Use(ParentAt(ParentType::kSocks5, parent.address()));
  Dialed dialed = Go();
  ASSERT_TRUE(dialed.ok()) << dialed.what;
  EXPECT_EQ(EarlyOf(dialed, 6), "BANNER");
  EXPECT_EQ(dialed.upstream, parent.address());
  EXPECT_EQ(dialed.hops, 1);
}

TEST_F(DialerTest, ChainOfAllKindsPassesOneAfterTheOther) {
  // One connection that plays all four parents: each is asked through the one before.
  FakeParent parent([](sys::DeadlineStream& stream) {
    Exchange(stream, "PROXY TCP4 192.0.2.9 192.0.2.1 1111 3128\r\n", "");
    Exchange(stream, Raw({5, 2, 0, 0xe1}), Raw({5, 0}));
    Exchange(stream, Raw({5, 1, 0, 3, 6}) + "second" + PortOf(1080), kConsent);
    Exchange(stream, Raw({4, 1, 0, 81, 192, 0, 2, 3, 0}), Raw({0, 90, 0, 0, 0, 0, 0, 0}));
    Exchange(stream, "CONNECT 192.0.2.4:82 HTTP/1.1\r\nHost: 192.0.2.4:82\r\nVia: 1.1 here:1\r\n\r\n",
             "HTTP/1.1 200 OK\r\n\r\n");
    Exchange(stream, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nVia: 1.1 here:1\r\n\r\n",
             "HTTP/1.0 200 OK\r\n\r\nBANNER");
    Exchange(stream, "bye", "BYE!");
  });
  Parent header = ParentAt(ParentType::kProxyHeader, {});
  header.proxy_header_version = 1;
  Use(header);
  Parent first = ParentAt(ParentType::kSocks5, parent.address());
  first.by_name = true;
  Use(first);
  Parent second = ParentAt(ParentType::kSocks4, {});
  second.host_name = "second";
  second.port = 1080;
  Use(second);
  Use(ParentAt(ParentType::kConnect, *sys::SocketAddress::ParseIp("192.0.2.3", 81)));
  Parent last = ParentAt(ParentType::kConnect, *sys::SocketAddress::ParseIp("192.0.2.4", 82));
  last.by_name = true;
  Use(last);
  request_.destination = {"a.example", {}, 443};
  Dialed dialed = Go();
  ASSERT_TRUE(dialed.ok()) << dialed.what;
  EXPECT_EQ(EarlyOf(dialed, 6), "BANNER");
  EXPECT_EQ(dialed.hops, 4);
  EXPECT_TRUE(resolved_.empty()) << "names that are passed on are nobody's to resolve here";
  EXPECT_EQ(send(dialed.fd.get(), "bye", 3, MSG_NOSIGNAL), 3);
  dialed.early.clear();
  EXPECT_EQ(EarlyOf(dialed, 4), "BYE!");
}

TEST_F(DialerTest, NamesOfParentsAreResolvedHere) {
  FakeParent parent(GreetingSocks);
  named_ = parent.address();
  Parent named = ParentAt(ParentType::kSocks5, {});
  named.host_name = "parent.example";
  named.port = parent.address().port();
  Use(named);
  EXPECT_TRUE(Go().ok());
  EXPECT_EQ(resolved_, std::vector<std::string>{"parent.example"});
}

TEST_F(DialerTest, ParentThatIsDownIsReplacedAndPassedOverFromThenOn) {
  const DeadEnd dead;
  FakeParent parent(GreetingSocks);
  Use(ParentAt(ParentType::kSocks5, dead.address));
  Use(ParentAt(ParentType::kSocks5, parent.address(), 0));
  Dialed dialed = Go();
  ASSERT_TRUE(dialed.ok()) << dialed.what;
  ASSERT_EQ(health_.failing().size(), 1u);
  EXPECT_EQ(health_.failing()[0].parent, list_.parents[0].ToString());
  EXPECT_TRUE(Go().ok());
  EXPECT_EQ(health_.failures(), 1) << "the second request did not try it";
}

TEST_F(DialerTest, NothingOfOneTryIsSeenByTheNext) {
  FakeParent liar([](sys::DeadlineStream& stream) {
    Exchange(stream, Raw({5, 2, 0, 0xe1}), Raw({5, 0}));
    Exchange(stream, Raw({5, 1, 0, 1, 192, 0, 2, 7, 0, 80}), Raw({5, 1, 0, 1}) + "0000pp" + "FALSE BANNER");
  });
  FakeParent parent(GreetingSocks);
  Use(ParentAt(ParentType::kSocks5, liar.address()));
  Use(ParentAt(ParentType::kSocks5, parent.address(), 0));
  Dialed dialed = Go();
  ASSERT_TRUE(dialed.ok()) << dialed.what;
  EXPECT_EQ(EarlyOf(dialed, 6), "BANNER");
  EXPECT_EQ(dialed.error, 0);
}

TEST_F(DialerTest, DestinationsOwnFailureIsNoReasonToTryAnotherParent) {
  FakeParent parent([](sys::DeadlineStream& stream) {
    Exchange(stream, Raw({5, 2, 0, 0xe1}), Raw({5, 0}));
    Exchange(stream, Raw({5, 1, 0, 1, 192, 0, 2, 7, 0, 80}), Raw({5, 5, 0, 1, 0, 0, 0, 0, 0, 0}));
  });
  Use(ParentAt(ParentType::kSocks5, parent.address()));
  const Dialed dialed = Go();
  EXPECT_FALSE(dialed.ok());
  EXPECT_STREQ(dialed.result.name, "socks5_parent_refused");
  EXPECT_EQ(dialed.error, ECONNREFUSED);
  EXPECT_EQ(parent.connections(), 1);
  EXPECT_TRUE(health_.failing().empty());
}

TEST_F(DialerTest, FailureOfTheNextParentIsItsOwn) {
  FakeParent parent([](sys::DeadlineStream& stream) {
    Exchange(stream, Raw({5, 2, 0, 0xe1}), Raw({5, 0}));
    Exchange(stream, Raw({5, 1, 0, 1, 192, 0, 2, 3, 0, 81}), Raw({5, 5, 0, 1, 0, 0, 0, 0, 0, 0}));
  });
  Use(ParentAt(ParentType::kSocks5, parent.address()));
  Use(ParentAt(ParentType::kSocks5, *sys::SocketAddress::ParseIp("192.0.2.3", 81)));
  retries_ = 0;
  EXPECT_FALSE(Go().ok());
  ASSERT_EQ(health_.failing().size(), 1u);
  EXPECT_EQ(health_.failing()[0].parent, "kind 192.0.2.3:81");
}

TEST_F(DialerTest, FailuresHaveTheirResults) {
  const struct {
    const char* name;
    ParentType type;
    FakeParent::Script script;
    const char* result;
    int error;
    bool fails;  // it is passed over from then on
  } kRows[] = {
      {"ends at once", ParentType::kSocks5, [](sys::DeadlineStream&) {}, "socks5_parent_failed", -1, true},
      {"speaks something else", ParentType::kSocks5,
       [](sys::DeadlineStream& s) { s.WriteAll("SSH-2.0-x\r\n").IgnoreError(); }, "socks5_parent_bad_reply", 0, true},
      {"wants credentials", ParentType::kSocks5,
       [](sys::DeadlineStream& s) {
         Exchange(s, Raw({5, 2, 0, 0xe1}), Raw({5, 0xff}));
       },
       "socks5_parent_auth_failed", 0, true},
      {"refuses", ParentType::kSocks4,
       [](sys::DeadlineStream& s) {
         Exchange(s, Raw({4, 1, 0, 80, 192, 0, 2, 7, 0}), Raw({0, 91, 0, 0, 0, 0, 0, 0}));
       },
       "socks4_parent_refused", 0, false},
      {"forbids", ParentType::kConnect,
       [](sys::DeadlineStream& s) {
         s.ReadUntil("\r\n\r\n", 1000).status().IgnoreError();
         s.WriteAll("HTTP/1.1 403 No\r\n\r\n").IgnoreError();
       },
       "connect_parent_refused", EACCES, false},
      {"wants credentials of HTTP", ParentType::kConnect,
       [](sys::DeadlineStream& s) {
         s.ReadUntil("\r\n\r\n", 1000).status().IgnoreError();
         s.WriteAll("HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n").IgnoreError();
       },
       "connect_parent_auth_failed", 0, true},
  };
  for (const auto& row : kRows) {
    FakeParent parent(row.script);
    list_ = {};
    Use(ParentAt(row.type, parent.address()));
    const Dialed dialed = Go();
    EXPECT_FALSE(dialed.ok()) << row.name;
    EXPECT_STREQ(dialed.result.name, row.result) << row.name;
    if (row.error >= 0) {
      EXPECT_EQ(dialed.error, row.error) << row.name;
    }
    EXPECT_EQ(health_.PausedUntil(list_.parents[0].ToString(), sys::Clock::System().Now()) != 0, row.fails) << row.name;
    EXPECT_EQ(parent.connections(), row.fails ? 3 : 1) << row.name << ": tried again twice, or not at all";
    EXPECT_TRUE(absl::StrContains(dialed.what, "parent")) << dialed.what;
  }
}

TEST_F(DialerTest, SilenceBehindTheRequestMayBeTheDestinations) {
  for (const bool asked : {false, true}) {
    FakeParent parent([asked](sys::DeadlineStream& stream) {
      if (asked) Exchange(stream, Raw({5, 2, 0, 0xe1}), Raw({5, 0}));
      char byte;
      while (stream.ReadSome(absl::MakeSpan(&byte, 1)).ok()) continue;  // until we give up
    });
    list_ = {};
    Use(ParentAt(ParentType::kSocks5, parent.address()));
    chain_nanos_ = 50 * sys::kNanosPerMilli;
    retries_ = 0;
    const Dialed dialed = Go();
    EXPECT_STREQ(dialed.result.name, "chain_timeout");
    EXPECT_EQ(dialed.error, ETIMEDOUT);
    EXPECT_EQ(health_.PausedUntil(list_.parents[0].ToString(), sys::Clock::System().Now()) == 0, asked);
  }
}

TEST_F(DialerTest, CredentialsAreOursOrTheClients) {
  std::string got;
  FakeParent parent([&](sys::DeadlineStream& stream) {
    got = stream.ReadUntil("\r\n\r\n", 1000).value_or("");
    stream.WriteAll("HTTP/1.1 200 OK\r\n\r\n").IgnoreError();
  });
  Parent own = ParentAt(ParentType::kConnect, parent.address());
  own.user = *CredentialTemplate::Parse("x-{user}");
  own.password = *CredentialTemplate::Parse("pw");
  Use(own);
  request_.user = "bob";
  request_.claimed_user = "bobby";
  request_.claimed_password = "tables";
  ASSERT_TRUE(Go().ok());
  EXPECT_TRUE(absl::StrContains(got, "Basic eC1ib2I6cHc=\r\n")) << got;  // x-bob:pw
  list_ = {};
  own.clients_credentials = true;
  Use(own);
  ASSERT_TRUE(Go().ok());
  EXPECT_TRUE(absl::StrContains(got, "Basic Ym9iYnk6dGFibGVz\r\n")) << got;  // bobby:tables
}

TEST_F(DialerTest, RingOfProxiesEnds) {
  Use(ParentAt(ParentType::kSocks5, *sys::SocketAddress::ParseIp("192.0.2.3", 81)));
  request_.depth = 16;
  const Dialed dialed = Go();
  EXPECT_STREQ(dialed.result.name, "loop_to_self");
  EXPECT_EQ(dialed.error, ELOOP);
}

TEST_F(DialerTest, RedirectionGoesElsewhereAndTheHeaderToWhoeverIsThere) {
  FakeParent there(
      [](sys::DeadlineStream& stream) { Exchange(stream, "PROXY TCP4 192.0.2.9 192.0.2.1 1111 3128\r\n", "BANNER"); });
  Parent header = ParentAt(ParentType::kProxyHeader, there.address());
  header.proxy_header_version = 1;
  Use(header);
  Dialed dialed = Go();
  ASSERT_TRUE(dialed.ok()) << dialed.what;
  EXPECT_EQ(EarlyOf(dialed, 6), "BANNER");
  EXPECT_EQ(dialed.hops, 0);
}

TEST_F(DialerTest, ShutdownEndsTheWait) {
  FakeParent parent([this](sys::DeadlineStream& stream) {
    char byte;
    ASSERT_TRUE(stream.ReadSome(absl::MakeSpan(&byte, 1)).ok());
    cancellation_.Cancel();
    while (stream.ReadSome(absl::MakeSpan(&byte, 1)).ok()) continue;
  });
  Use(ParentAt(ParentType::kSocks5, parent.address()));
  EXPECT_EQ(Go().error, ECANCELED);
  EXPECT_EQ(parent.connections(), 1);
  EXPECT_TRUE(health_.failing().empty());
}

TEST_F(DialerTest, SourceAddressIsTheRoutes) {
  Parent v4 = ParentAt(ParentType::kSourceAddress, *sys::SocketAddress::ParseIp("127.0.0.5", 0));
  FakeParent parent(GreetingSocks);
  Use(v4);
  Use(ParentAt(ParentType::kSocks5, parent.address()));
  const Dialed dialed = Go();
  ASSERT_TRUE(dialed.ok()) << dialed.what;
  EXPECT_EQ(sys::SocketAddress::OfSocket(dialed.fd.get()).IpText(), "127.0.0.5");
}

TEST(OutgoingFor, NetworkHasItsFreeBitsDrawn) {
  Parent source;
  source.address = *sys::SocketAddress::ParseIp("2001:db8:1:2::", 0);
  source.prefix_bits = 61;
  const auto client = *sys::SocketAddress::ParseIp("192.0.2.9", 1111);
  std::vector<std::string> seen;
  for (int i = 0; i < 8; ++i) {
    const relay::OutgoingOptions outgoing = OutgoingFor({}, &source, client);
    ASSERT_TRUE(outgoing.source_ipv6.has_value());
    EXPECT_FALSE(outgoing.source_ipv4.has_value());
    EXPECT_TRUE(outgoing.free_bind);
    const auto& bytes = outgoing.source_ipv6->ipv6();
    EXPECT_EQ(bytes[5], 1) << "the network stays";
    EXPECT_EQ(bytes[6], 0);
    EXPECT_EQ(bytes[7] & 0xf8, 0);
    seen.push_back(outgoing.source_ipv6->IpText());
  }
  EXPECT_NE(seen.front(), seen.back());
  source.address = sys::SocketAddress::Any(sys::AddressFamily::kIpv4, 0);
  EXPECT_EQ(OutgoingFor({}, &source, client).source_ipv4->ToString(), "192.0.2.9:0") << "the client's own";
}

}  // namespace
}  // namespace sluice::upstream
