#include "protocols/config/commands/tls.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protocols/config/builder.h"
#include "protocols/config/file_reader.h"
#include "protocols/config/testing/build_text.h"
#include "protocols/service/snapshot.h"

namespace sluice::config {
namespace {

using ::testing::HasSubstr;

// With the files of testdata/tls: @NAME is one of them.
BuildResult Build(std::string text) {
  for (size_t at; (at = text.find('@')) != std::string::npos;) text.replace(at, 1, "testdata/tls/");
  SystemFileReader files;
  return BuildFromText("test.cfg", std::move(text), {.files = &files, .allow_system = false, .run_system = {}});
}

std::string SaidOf(const std::string& text) { return Build(text).diagnostics.ToString(); }

constexpr char kPair[] = "ssl_server_cert @server.pem\nssl_server_key @server.key\n";
constexpr char kVerified[] = "ssl_client_verify\nssl_client_ca_file @ca.pem\n";

TEST(TlsCommandsTest, ServicesGetTheContextsThatAreOnAboveThem) {
  const BuildResult result = Build(absl::StrCat(kPair, kVerified,
                                                "proxy -p1\n"
                                                "ssl_serv\nproxy -p2\n"
                                                "ssl_cli\nsocks -p3\n"
                                                "ssl_noserv\ntcppm 4 192.0.2.1 80\n"
                                                "ssl_nocli\nproxy -p5\n"));
  ASSERT_EQ(result.diagnostics.ToString(), "");
  const auto& services = result.snapshot->services;
  ASSERT_EQ(services.size(), 5u);
  const bool server[] = {false, true, true, false, false};
  const bool client[] = {false, false, true, true, false};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(services[i]->tls.server != nullptr, server[i]) << i;
    EXPECT_EQ(services[i]->tls.client != nullptr, client[i]) << i;
  }
  EXPECT_EQ(services[1]->tls.server, services[2]->tls.server) << "shared while nothing changes";
}

TEST(TlsCommandsTest, WrongMaterialIsAnErrorThatSaysWhich) {
  const struct {
    const char* settings;
    const char* said;
  } kCases[] = {
      {"ssl_serv\n", "no certificate was given, write ssl_server_cert FILE"},
      {"ssl_server_cert @none.pem\nssl_serv\n", "ssl_server_cert: 'testdata/tls/none.pem' cannot be read"},
      {"ssl_server_cert @server.pem\nssl_server_key @other.key\nssl_serv\n",
       "testdata/tls/other.key: the key is not that of the certificate in testdata/tls/server.pem"},
      {"ssl_server_cert @server.pem\nssl_serv\n", "testdata/tls/server.pem: it has no key beside its certificate"},
      {"ssl_server_cert @server.key\nssl_server_key @server.key\nssl_serv\n",
       "testdata/tls/server.key: it has no certificate in PEM"},
      {"ssl_server_cert @server.pem\nssl_server_key @server.pem\nssl_serv\n",
       "testdata/tls/server.pem: it has no key in PEM"},
      {"ssl_server_cert @server.pem\nssl_server_key @locked.key\nssl_serv\n",
       "testdata/tls/locked.key: the key is under a password"},
      {"ssl_server_cert @expired.pem\nssl_server_key @expired.key\nssl_serv\n",
       "testdata/tls/expired.pem: the certificate has expired (Jan  1 00:00:00 2021 GMT)"},
      {"ssl_server_cert @server.pem\nssl_server_cert @other.pem\nssl_server_key @server.key\nssl_serv\n",
       "ssl_server_cert was given 2 times and ssl_server_key 1 times"},
      {"ssl_server_cert @both.pem\nssl_server_verify\nssl_serv\n", "write ssl_server_ca_file FILE"},
      {"ssl_server_cert @both.pem\nssl_server_ca_file @ca.key\nssl_serv\n", "ca.key: it has no certificate in PEM"},
      {"ssl_server_cert @both.pem\nssl_server_ca_dir @none\nssl_serv\n", "testdata/tls/none: No such file"},
      {"ssl_server_cert @both.pem\nssl_server_ca_store @none\nssl_serv\n", "ssl_serv: testdata/tls/none: "},
      {"ssl_server_cert @both.pem\nssl_server_cipher_list NONSENSE\nssl_serv\n", "cipher list 'NONSENSE': "},
      {"ssl_server_cert @both.pem\nssl_server_ciphersuites NONSENSE\nssl_serv\n", "cipher suites 'NONSENSE': "},
      {"ssl_server_min_proto_version SSLv3\n", "'SSLv3' is no version"},
      {"ssl_server_cert @both.pem\nssl_server_min_proto_version TLSv1.3\nssl_server_max_proto_version TLSv1.2\n"
       "ssl_serv\n",
       "the lowest is above the highest"},
      {"ssl_client_key @client.key\nssl_cli\n", "ssl_client_key was given and ssl_client_cert was not"},
      {"ssl_client_cert @client.pem\nssl_client_key @server.key\nssl_cli\n", "ssl_cli: testdata/tls/server.key: "},
      {"ssl_client_sni a..b\n", "ssl_client_sni: 'a..b' "},
      {"ssl_client_mode 4\n", "'4' is no number from 0 to 3"},
      {"ssl_mitm\n", "ssl_mitm: is not built yet"},
      {"ssl_ktls strict\n", "sluice does not have it yet"},
  };
  for (const auto& c : kCases) {
    const BuildResult result = Build(absl::StrCat(c.settings, kSomeService));
    EXPECT_EQ(result.snapshot, nullptr) << c.settings;
    EXPECT_THAT(result.diagnostics.ToString(), HasSubstr(c.said)) << c.settings;
  }
}

TEST(TlsCommandsTest, WhatIsDangerousOrWithoutEffectIsWarnedOf) {
  EXPECT_THAT(SaidOf(absl::StrCat("ssl_cli\n", kSomeService)), HasSubstr("warning: tcppm: upstreams are not verified"));
  EXPECT_THAT(SaidOf(absl::StrCat("ssl_ktls\n", kSomeService)), HasSubstr("warning: ssl_ktls: "));
  EXPECT_THAT(SaidOf(absl::StrCat(kVerified, "ssl_client_mode 3\nssl_cli\n", kSomeService)),
              HasSubstr("there is none, upstreams are reached without TLS"));
  EXPECT_THAT(SaidOf(absl::StrCat(kPair, "ssl_serv\nudppm 53 192.0.2.1 53\n")), HasSubstr("is no service for it"));
}

// As many programs have it, a certificate for another service takes the place of the one before; those above one
// service are all for it.
TEST(TlsCommandsTest, ServiceTakesTheCertificatesAndTheNextListBeginsAnew) {
  const BuildResult result = Build(
      "ssl_serv\n"
      "ssl_server_cert @server.pem\nssl_server_key @server.key\n"
      "ssl_server_cert @other.pem\nssl_server_key @other.key\n"
      "proxy -p1\n"
      "ssl_server_cert @both.pem\nproxy -p2\n"
      "ssl_server_key @other.key\nssl_server_cert @other.pem\nproxy -p3\n");
  EXPECT_EQ(result.diagnostics.ToString(), "");
}

TEST(TlsCommandsTest, NoArgumentTakesTheValueBack) {
  const std::string all = absl::StrCat(
      kPair, kVerified,
      "ssl_server_cipher_list NONSENSE\nssl_server_cipher_list\nssl_server_ciphersuites NONSENSE\n"
      "ssl_server_ciphersuites\nssl_server_ca_dir none\nssl_server_ca_dir\nssl_server_ca_store none\n"
      "ssl_server_ca_store\nssl_server_ca_file\nssl_server_min_proto_version TLSv1.3\n"
      "ssl_server_min_proto_version\nssl_server_max_proto_version TLSv1.2\nssl_server_max_proto_version\n"
      "ssl_client_sni x.test\nssl_client_sni\nssl_client_alpn h2\nssl_client_alpn\nssl_client_cert\nssl_client_key\n"
      "ssl_server_verify\nssl_server_no_verify\n"
      "ssl_serv\nssl_cli\n",
      kSomeService);
  EXPECT_EQ(SaidOf(all), "");
  EXPECT_THAT(SaidOf(absl::StrCat(kPair, "ssl_server_cert\nssl_serv\n", kSomeService)),
              HasSubstr("no certificate was given"));
}

}  // namespace
}  // namespace sluice::config
