#include "protocols/http/forwarding.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice::http {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const sys::SocketAddress kClient = sys::SocketAddress::Ipv4(0x7f000001, 4242);

std::string Forward(const std::string& head, Disclosure disclosure = Disclosure::kNothing,
                    const sys::SocketAddress& client = kClient) {
  RequestHead request;
  const HeadError error = ParseRequestHead(head, request);
  EXPECT_TRUE(error.ok()) << error.what;
  std::string out;
  AppendRequestHead(request, {disclosure, "proxy.test:3128"}, client, 0x01020304, out);
  return out;
}

std::string Get(const std::string& fields, Disclosure disclosure = Disclosure::kNothing) {
  return Forward(absl::StrCat("GET http://o.test/x HTTP/1.1\r\nHost: o.test\r\n", fields, "\r\n"), disclosure);
}

TEST(AppendRequestHead, IsInOriginFormWithTheHostOfTheTarget) {
  EXPECT_EQ(Forward("GET http://allowed.test:81/a?b HTTP/1.0\r\nHost: denied.test\r\nA: b\r\n\r\n"),
            "GET /a?b HTTP/1.1\r\nHost: allowed.test:81\r\nA: b\r\n\r\n");
  EXPECT_EQ(Forward("GET http://[::1]:80?q HTTP/1.0\r\n\r\n"), "GET /?q HTTP/1.1\r\nHost: [::1]\r\n\r\n");
  EXPECT_EQ(Forward("OPTIONS http://o.test HTTP/1.0\r\n\r\n"), "OPTIONS * HTTP/1.1\r\nHost: o.test\r\n\r\n");
  EXPECT_EQ(Forward("OPTIONS http://o.test/ HTTP/1.0\r\n\r\n"), "OPTIONS / HTTP/1.1\r\nHost: o.test\r\n\r\n");
}

TEST(AppendRequestHead, ParentIsGivenTheWholeUrlAndOurCredentials) {
  ForwardingPolicy policy{Disclosure::kNothing, "proxy.test:3128"};
  policy.to_proxy = true;
  policy.proxy_authorization = "Basic b3Vyczpwdw==";
  const auto forward = [&](const std::string& head) {
    RequestHead request;
    EXPECT_TRUE(ParseRequestHead(head, request).ok());
    std::string out;
    AppendRequestHead(request, policy, kClient, 0, out);
    return out;
  };
  EXPECT_EQ(forward("GET http://o.test:81/a?b HTTP/1.1\r\nHost: o.test:81\r\nProxy-Authorization: Basic dTpw\r\n\r\n"),
            "GET http://o.test:81/a?b HTTP/1.1\r\nHost: o.test:81\r\nProxy-Authorization: Basic b3Vyczpwdw==\r\n\r\n")
      << "and not the client's";
  policy.proxy_authorization = "";
  EXPECT_EQ(forward("GET /x HTTP/1.1\r\nHost: o.test\r\n\r\n"), "GET http://o.test/x HTTP/1.1\r\nHost: o.test\r\n\r\n");
  EXPECT_EQ(forward("OPTIONS http://o.test HTTP/1.1\r\nHost: o.test\r\n\r\n"),
            "OPTIONS http://o.test HTTP/1.1\r\nHost: o.test\r\n\r\n");
}

TEST(AppendRequestHead, HopByHopFieldsEndHere) {
  const std::string out =
      Get("Connection: keep-alive, X-Secret\r\nx-secret: 1\r\nKeep-Alive: 5\r\nProxy-Connection: keep-alive\r\n"
          "Proxy-Authorization: Basic dTpw\r\nTE: trailers\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\nKept: yes\r\n");
  EXPECT_EQ(out, "GET /x HTTP/1.1\r\nHost: o.test\r\nKept: yes\r\n\r\n");
}

TEST(AppendRequestHead, ConnectionCannotNameAwayWhatFramesOrRoutes) {
  const std::string out = Forward(
      "POST http://o.test/ HTTP/1.1\r\nHost: o.test\r\nConnection: Host, Content-Length\r\nContent-Length: 05\r\n\r\n");
  EXPECT_EQ(out, "POST / HTTP/1.1\r\nHost: o.test\r\nContent-Length: 5\r\n\r\n");
}

TEST(AppendRequestHead, OneFramingIsWritten) {
  EXPECT_THAT(Forward("PUT http://o/ HTTP/1.1\r\nHost: o\r\nTransfer-encoding:  CHUNKED\r\n\r\n"),
              HasSubstr("\r\nTransfer-Encoding: chunked\r\n"));
}

TEST(AppendRequestHead, DisclosesAsTold) {
  const std::string own = "Via: 1.0 before\r\nForwarded: for=x\r\nX-Forwarded-For: 9.9.9.9\r\nX-Real-IP: 9.9.9.9\r\n";
  const std::string forwarded = Get(own, Disclosure::kForwarded);
  EXPECT_THAT(forwarded, HasSubstr("Forwarded: for=x\r\n"));
  EXPECT_THAT(forwarded, HasSubstr("Forwarded: for=\"127.0.0.1:4242\";by=\"proxy.test:3128\"\r\n"));
  EXPECT_EQ(Get(own, Disclosure::kNothing), "GET /x HTTP/1.1\r\nHost: o.test\r\n\r\n");
  const std::string random = Get(own, Disclosure::kRandom);
  EXPECT_THAT(random, HasSubstr("Via: 1.1 proxy.test:3128 (sluice)\r\nX-Forwarded-For: 1.2.3.4\r\n"));
  EXPECT_THAT(random, Not(HasSubstr("9.9.9.9")));
  EXPECT_THAT(random, Not(HasSubstr("127.0.0.1")));
  EXPECT_THAT(Get(own, Disclosure::kReal), HasSubstr("X-Forwarded-For: 127.0.0.1\r\n"));
}

TEST(AppendRequestHead, QuotesIpv6) {
  const sys::SocketAddress client = sys::SocketAddress::Loopback(sys::AddressFamily::kIpv6, 7);
  EXPECT_THAT(Forward("GET http://o/ HTTP/1.0\r\n\r\n", Disclosure::kForwarded, client), HasSubstr("for=\"[::1]:7\";"));
}

TEST(AppendRequestHead, UpgradeIsAskedForAgain) {
  EXPECT_THAT(Get("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: a\r\n"),
              HasSubstr("Sec-WebSocket-Key: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"));
}

TEST(AppendRequestHead, MaxForwardsCountsDown) {
  EXPECT_THAT(Forward("TRACE http://o/ HTTP/1.1\r\nHost: o\r\nMax-Forwards: 3\r\n\r\n"),
              HasSubstr("\r\nMax-Forwards: 2\r\n"));
}

std::string Answer(const std::string& head, const ResponseForm& form, Method method = Method::kGet) {
  ResponseHead response;
  EXPECT_TRUE(ParseResponseHead(head, method, response).ok());
  std::string out;
  AppendResponseHead(response, form, out);
  return out;
}

TEST(AppendResponseHead, RewritesWhatConcernsTheConnection) {
  const std::string head =
      "HTTP/1.0 200 Fine\r\nConnection: close, X\r\nX: 1\r\nProxy-Authenticate: Basic\r\nContent-Length: 02\r\n"
      "Keep-Alive: 1\r\nServer: o\r\n\r\n";
  EXPECT_EQ(Answer(head, {1, true, false}), "HTTP/1.1 200 Fine\r\nServer: o\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(Answer(head, {0, true, false}),
            "HTTP/1.1 200 Fine\r\nServer: o\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(Answer(head, {1, false, false}),
            "HTTP/1.1 200 Fine\r\nServer: o\r\nContent-Length: 2\r\nConnection: close\r\n\r\n");
}

TEST(AppendResponseHead, InformationalAnswersStayBare) {
  EXPECT_EQ(Answer("HTTP/1.1 103 Early\r\nLink: a\r\nContent-Length: 5\r\n\r\n", {1, true, false}),
            "HTTP/1.1 103 Early\r\nLink: a\r\n\r\n");
  EXPECT_EQ(Answer("HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n", {1, true, false}),
            "HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
}

TEST(AppendResponseHead, LengthsOfAnswersWithoutBody) {
  EXPECT_THAT(Answer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", {1, true, false}, Method::kHead),
              HasSubstr("Content-Length: 9\r\n"));
  EXPECT_THAT(Answer("HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n", {1, true, false}), Not(HasSubstr("Length")));
}

TEST(AppendTrailer, KeepsOutWhatFramesRoutesOrAuthenticates) {
  std::string out;
  EXPECT_TRUE(
      AppendTrailer("Digest: a\r\nContent-Length: 5\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                    "Authorization: b\r\nX-Forwarded-For: c\r\n",
                    out));
  EXPECT_EQ(out, "Digest: a\r\n");
  EXPECT_FALSE(AppendTrailer("A : b\r\n", out));
}

TEST(HasPassedHere, LooksAtTheNameOfEachEntry) {
  const auto passed = [](const std::string& via) {
    const std::string head = absl::StrCat("GET http://o/ HTTP/1.0\r\nVia: ", via, "\r\n\r\n");
    RequestHead request;
    EXPECT_TRUE(ParseRequestHead(head, request).ok());
    return HasPassedHere(request, "p:1");
  };
  EXPECT_TRUE(passed("1.1 p:1"));
  EXPECT_TRUE(passed("1.0 a, HTTP/1.1 P:1 (x)"));
  EXPECT_FALSE(passed("1.1 p:11, 1.1 q (p:1)"));
  EXPECT_FALSE(passed("p:1"));
}

TEST(HasPassedHere, ALoopThroughAPortMapEndsThoughOnlyForwardedTells) {
  const auto passed = [](const std::string& fields) {
    const std::string head = absl::StrCat("GET http://o/ HTTP/1.0\r\n", fields, "\r\n");
    RequestHead request;
    EXPECT_TRUE(ParseRequestHead(head, request).ok());
    return HasPassedHere(request, "p:1");
  };
  const std::string ours = "Forwarded: for=\"1.2.3.4:5\";by=\"p:1\"\r\n";
  EXPECT_FALSE(passed(ours));
  EXPECT_TRUE(passed(ours + ours));
  EXPECT_TRUE(passed("Forwarded: for=a;by=\"p:1\", for=b;by=\"p:1\"\r\n"));
  EXPECT_FALSE(passed("Forwarded: for=a;by=\"p:11\", for=b;by=\"q:1\"\r\n" + ours));
}

TEST(AppendResponseHead, A204WithATransferCodingIsNotWaitedFor) {
  const std::string head = "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n";
  ResponseHead response;
  ASSERT_TRUE(ParseResponseHead(head, Method::kGet, response).ok());
  std::string out;
  AppendResponseHead(response, {1, true, true}, out);
  EXPECT_EQ(out, "HTTP/1.1 204 No Content\r\n\r\n");
}

}  // namespace
}  // namespace sluice::http
