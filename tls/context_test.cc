#include "tls/context.h"

#include <openssl/x509v3.h>

#include <cerrno>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sys/thread/clock.h"
#include "tls/session_cache.h"
#include "tls/testing/both_ends.h"
#include "tls/verify.h"

namespace sluice::tls {
namespace {

using testing::BothEnds;
using testing::Make;
using testing::TestCertificate;
using testing::TestClient;
using testing::TestFile;
using testing::TestServer;

Handle<SSL> ClientOf(const std::shared_ptr<const ClientContext>& context, const std::string& host,
                     const std::string& where = "") {
  auto ssl = context->NewSession(host, where);
  EXPECT_TRUE(ssl.ok()) << ssl.status();
  return ssl.ok() ? *std::move(ssl) : nullptr;
}

std::string NameOfPeer(const RecordEngine& engine) {
  const X509* const certificate = SSL_get0_peer_certificate(engine.ssl());
  if (certificate == nullptr) return "none";
  char name[256] = "";
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof name);
  return name;
}

TEST(ContextTest, CertificateIsChosenByTheNameThatIsAskedFor) {
  ServerOptions options = TestServer();
  options.certificates.push_back(TestCertificate("other"));
  const auto server = Make<ServerContext>(options);
  const auto client = Make<ClientContext>(TestClient());
  for (const auto& [host, name] : {std::pair<std::string, std::string>{"localhost", "server"},
                                   {"other.test", "other"},
                                   {"OTHER.test", "other"},
                                   {"a.example.test", "server"},
                                   {"127.0.0.1", "server"},
                                   {"::1", "server"}}) {
    BothEnds ends(server->NewSession(nullptr), ClientOf(client, host));
    ASSERT_TRUE(ends.Handshake()) << host << ": " << ends.client.fault();
    EXPECT_EQ(NameOfPeer(ends.client), name) << host;
    EXPECT_EQ(ends.ToServer("x"), "x");
  }
}

TEST(ContextTest, UpstreamThatIsNotTheOneMeantIsRefused) {
  const auto client = Make<ClientContext>(TestClient());
  ClientOptions named = TestClient();
  named.server_name = "other.test";
  const auto other = Make<ClientContext>(named);
  ClientOptions stranger = TestClient();
  stranger.trust.file = TestFile("ca2.pem");
  const struct {
    std::shared_ptr<const ClientContext> client;
    const char* host;
    const char* why;
  } kCases[] = {
      {client, "elsewhere.test", "hostname mismatch"},
      {client, "example.test", "hostname mismatch"},
      {client, "127.0.0.2", "IP address mismatch"},
      {other, "localhost", "hostname mismatch"},
      {Make<ClientContext>(stranger), "localhost", "unable to get local issuer certificate"},
  };
  const auto server = Make<ServerContext>(TestServer());
  for (const auto& c : kCases) {
    BothEnds ends(server->NewSession(nullptr), ClientOf(c.client, c.host));
    EXPECT_FALSE(ends.Handshake()) << c.host;
    EXPECT_EQ(ends.client.fault(), "certificate verify failed") << c.host;
    EXPECT_EQ(VerifyFailure(ends.client.ssl()), c.why) << c.host;
  }
}

TEST(ContextTest, ClientsAreAskedForCertificatesOfTheAuthority) {
  ServerOptions options = TestServer();
  options.trust.file = TestFile("ca.pem");
  options.verify = true;
  const auto server = Make<ServerContext>(options);
  for (const uint16_t version : {kTls12, kTls13}) {
    for (const auto& [name, good] : {std::pair<std::string, bool>{"client", true}, {"stranger", false}, {"", false}}) {
      ClientOptions client = TestClient();
      client.parameters.max_version = version;
      if (!name.empty()) client.certificate = TestCertificate(name);
      BothEnds ends(server->NewSession(nullptr), ClientOf(Make<ClientContext>(client), "localhost"));
      // In TLS 1.3 the client is done before it is judged.
      EXPECT_EQ(ends.Handshake(), good) << name << version;
      EXPECT_EQ(ends.server_progress == RecordEngine::Progress::kDone, good) << name << version;
      EXPECT_EQ(NameOfPeer(ends.server), good ? "client" : "none");
    }
  }
}

TEST(ContextTest, VersionsAndListsAreKept) {
  ServerOptions old = TestServer();
  old.parameters.max_version = kTls12;
  old.parameters.cipher_list = "ECDHE-ECDSA-AES256-GCM-SHA384";
  ClientOptions fresh = TestClient();
  fresh.parameters.min_version = kTls13;
  const auto old_server = Make<ServerContext>(old);
  BothEnds apart(old_server->NewSession(nullptr), ClientOf(Make<ClientContext>(fresh), "localhost"));
  EXPECT_FALSE(apart.Handshake());

  BothEnds ends(old_server->NewSession(nullptr), ClientOf(Make<ClientContext>(TestClient()), "localhost"));
  ASSERT_TRUE(ends.Handshake());
  EXPECT_STREQ(SSL_get_version(ends.server.ssl()), "TLSv1.2");
  EXPECT_STREQ(SSL_get_cipher_name(ends.server.ssl()), "ECDHE-ECDSA-AES256-GCM-SHA384");

  ServerOptions ancient = TestServer();
  ancient.parameters.min_version = kTls10;
  ClientOptions ancient_client = TestClient();
  ancient_client.parameters.min_version = kTls10;
  ancient_client.parameters.max_version = kTls10;
  const auto ancient_server = Make<ServerContext>(ancient);
  BothEnds ancients(ancient_server->NewSession(nullptr), ClientOf(Make<ClientContext>(ancient_client), "localhost"));
  EXPECT_TRUE(ancients.Handshake()) << ancients.client.fault() << ancients.server.fault();

  ServerOptions suite = TestServer();
  suite.parameters.ciphersuites = "TLS_CHACHA20_POLY1305_SHA256";
  const auto chacha_server = Make<ServerContext>(suite);
  BothEnds chacha(chacha_server->NewSession(nullptr), ClientOf(Make<ClientContext>(TestClient()), "localhost"));
  ASSERT_TRUE(chacha.Handshake());
  EXPECT_STREQ(SSL_get_cipher_name(chacha.server.ssl()), "TLS_CHACHA20_POLY1305_SHA256");
}

TEST(ContextTest, ProtocolsAreAgreedOn) {
  const auto server = Make<ServerContext>(TestServer());
  const std::vector<std::string> ours = {"http/1.1"};
  for (const auto& [theirs, agreed] :
       {std::pair<std::vector<std::string>, std::string>{{"h2", "http/1.1"}, "http/1.1"}, {{"h2"}, ""}, {{}, ""}}) {
    ClientOptions options = TestClient();
    options.protocols = theirs;
    BothEnds ends(server->NewSession(&ours), ClientOf(Make<ClientContext>(options), "localhost"));
    ASSERT_TRUE(ends.Handshake());
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ends.client.ssl(), &name, &size);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(name), size), agreed);
  }
}

TEST(ContextTest, StapleIsGivenToWhoAsks) {
  ServerOptions options = TestServer();
  options.certificates[0].staple = TestFile("server.ocsp");
  const auto server = Make<ServerContext>(options);
  Handle<SSL> client = ClientOf(Make<ClientContext>(TestClient()), "localhost");
  SSL_set_tlsext_status_type(client.get(), TLSEXT_STATUSTYPE_ocsp);
  BothEnds ends(server->NewSession(nullptr), std::move(client));
  ASSERT_TRUE(ends.Handshake());
  const unsigned char* staple = nullptr;
  const long size = SSL_get_tlsext_status_ocsp_resp(ends.client.ssl(), &staple);  // NOLINT: OpenSSL's type
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(staple), static_cast<size_t>(std::max(0L, size))),
            options.certificates[0].staple.text);

  options.certificates[0].staple.text = "nonsense";
  EXPECT_THAT(std::string(ServerContext::Create(options).status().message()),
              ::testing::HasSubstr("server.ocsp: it is no OCSP response"));
}

// Whether the second of two sessions in a row is resumed.
bool Resumes(const ServerOptions& first, const ServerOptions& second,
             const std::shared_ptr<const ClientContext>& client, const std::string& host,
             const std::string& second_host, const std::string& where = "") {
  bool resumed = false;
  for (const bool again : {false, true}) {
    const auto server = Make<ServerContext>(again ? second : first);
    BothEnds ends(server->NewSession(nullptr), ClientOf(client, again ? second_host : host, again ? where : ""));
    EXPECT_TRUE(ends.Handshake()) << ends.client.fault() << ends.server.fault();
    EXPECT_EQ(ends.ToServer("question"), "question");
    EXPECT_EQ(ends.ToClient("answer"), "answer");  // TLS 1.3: the ticket comes with it
    resumed = SSL_session_reused(ends.client.ssl()) == 1;
    EXPECT_EQ(SSL_session_reused(ends.server.ssl()) == 1, resumed);
  }
  return resumed;
}

TEST(ContextTest, SessionsAreResumedByWhomeverTheyWereMadeWith) {
  for (const uint16_t version : {kTls12, kTls13}) {
    ServerOptions server = TestServer();
    server.parameters.max_version = version;
    const auto client = [] { return Make<ClientContext>(TestClient()); };
    EXPECT_TRUE(Resumes(server, server, client(), "localhost", "localhost")) << "also over a reload";
    EXPECT_FALSE(Resumes(server, server, client(), "localhost", "a.example.test")) << "another name";
    EXPECT_FALSE(Resumes(server, server, client(), "localhost", "localhost", "another port"));
    ServerOptions other_rules = server;
    other_rules.trust.file = TestFile("ca.pem");
    EXPECT_FALSE(Resumes(server, other_rules, client(), "localhost", "localhost"));
  }
}

TEST(SessionCacheTest, KeepsTheNewestOfEachAndForgetsTheOld) {
  sys::ManualClock clock;
  SessionCache cache(&clock);
  const auto put = [&](const std::string& identity) {
    SSL_SESSION* const session = SSL_SESSION_new();
    SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION);
    cache.Put(identity, {Handle<SSL_SESSION>(session), clock.Now()});
    return session;
  };
  std::vector<SSL_SESSION*> sessions;
  for (size_t i = 0; i < SessionCache::kMostOfOne + 2; ++i) sessions.push_back(put("a"));
  for (size_t i = 0; i < SessionCache::kMostOfOne; ++i) {
    const auto entry = cache.Take("a");
    ASSERT_TRUE(entry.has_value());
    EXPECT_EQ(entry->session.get(), sessions[sessions.size() - 1 - i]);
  }
  EXPECT_FALSE(cache.Take("a").has_value());
  EXPECT_EQ(cache.identities(), 0u);

  // Before TLS 1.3 a session may be used again and again.
  SSL_SESSION_set_protocol_version(put("old"), TLS1_2_VERSION);
  EXPECT_TRUE(cache.Take("old").has_value());
  EXPECT_TRUE(cache.Take("old").has_value());
  clock.Advance(SessionCache::kLongestNanos + 1);
  EXPECT_FALSE(cache.Take("old").has_value());

  put("a");
  clock.Advance(SessionCache::kLongestNanos + 1);
  EXPECT_FALSE(cache.Take("a").has_value());

  for (size_t i = 0; i <= SessionCache::kMostIdentities; ++i) put(std::to_string(i));
  EXPECT_EQ(cache.identities(), SessionCache::kMostIdentities);
  EXPECT_FALSE(cache.Take("0").has_value());
  EXPECT_TRUE(cache.Take("1").has_value());
}

}  // namespace
}  // namespace sluice::tls
