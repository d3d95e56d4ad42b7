#include "protocols/http/keepalive_framer.h"

#include <cerrno>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protocols/http/testing/conversation.h"
#include "protocols/http/testing/recording_framer.h"

namespace sluice::http {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Get(const std::string& path, const std::string& fields = "") {
  return absl::StrCat("GET http://o", path, " HTTP/1.1\r\nHost: o\r\n", fields, "\r\n");
}

std::string Asked(const std::string& path, const std::string& fields = "") {
  return absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: o\r\n", fields, "\r\n");
}

std::string Ok(const std::string& body) {
  return absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
}

std::string Summary(const Heard& heard) {
  return absl::StrCat("upstream: ", heard.upstream, "\nclient: ", heard.client,
                      "\nover: ", absl::StrJoin(heard.over, ", "), "\ntunnel: ", heard.tunnel, heard.tunnel_to_upstream,
                      "|", heard.tunnel_to_client, "\naborted: ", heard.aborted, " refused: ", heard.refused);
}

// Plays it whole, and cut into pieces of every size of both: what comes out is the same.
Heard PlayEveryWay(const std::string& client, const std::vector<std::string>& answers) {
  const Heard whole = Play(client, client.size() + 1, answers, 1 << 20);
  for (const size_t client_piece : {1, 2, 3, 5, 7, 16, 100}) {
    for (const size_t upstream_piece : {1, 2, 3, 4, 6, 11, 50, 64, 300}) {
      const Heard cut = Play(client, client_piece, answers, upstream_piece);
      EXPECT_EQ(Summary(cut), Summary(whole)) << client_piece << " " << upstream_piece;
    }
  }
  return whole;
}

TEST(KeepaliveFramer, PipelinedRequestsHaveTheirAnswersInOrder) {
  const Heard heard = PlayEveryWay(Get("/1") + Get("/2") + Get("/3"), {Ok("one"), Ok(""), Ok("three")});
  EXPECT_EQ(heard.upstream, Asked("/1") + Asked("/2") + Asked("/3"));
  EXPECT_EQ(heard.client, Ok("one") + Ok("") + Ok("three"));
  EXPECT_THAT(heard.over, ElementsAre("whole", "whole", "whole"));
}

TEST(KeepaliveFramer, BodiesEndWhereTheyEnd) {
  const std::string data(500, 'x');
  const std::string head = "POST http://o/ HTTP/1.1\r\nHost: o\r\n";
  const Heard heard = PlayEveryWay(
      absl::StrCat(head, "Content-Length: 500\r\n\r\n", data, head, "Transfer-Encoding: chunked\r\n\r\n1f4;x=y \r\n",
                   data, "\r\n003\r\nabc\r\n0\r\nT: 1\r\nHost: z\r\n\r\n", Get("/end")),
      {Ok("a"), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n05;q\r\nhello\r\n0\r\n\r\n", Ok("c")});
  EXPECT_EQ(heard.upstream, absl::StrCat("POST / HTTP/1.1\r\nHost: o\r\nContent-Length: 500\r\n\r\n", data,
                                         "POST / HTTP/1.1\r\nHost: o\r\nTransfer-Encoding: chunked\r\n\r\n1f4\r\n",
                                         data, "\r\n3\r\nabc\r\n0\r\nT: 1\r\n\r\n", Asked("/end")));
  EXPECT_THAT(heard.client, HasSubstr("chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + Ok("c")));
  EXPECT_THAT(heard.over, ElementsAre("whole", "whole", "whole"));
}

TEST(KeepaliveFramer, AnswersWithoutBodyWhateverTheirFieldsSay) {
  const std::string head = "HEAD http://o/ HTTP/1.1\r\nHost: o\r\n\r\n";
  const Heard heard = PlayEveryWay(
      head + Get("/304") + Get("/204") + Get("/end"),
      {"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nContent-Length: 50\r\n\r\n",
       "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", Ok("marker")});
  EXPECT_THAT(heard.client, EndsWith(Ok("marker")));
  EXPECT_THAT(heard.over, ElementsAre("whole", "whole", "whole", "whole"));
}

TEST(KeepaliveFramer, InformationalAnswersGoOn) {
  const std::string hints = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: a\r\n\r\n";
  EXPECT_EQ(PlayEveryWay(Get("/"), {hints + Ok("x")}).client, hints + Ok("x"));
  const Heard old = PlayEveryWay("GET http://o/ HTTP/1.0\r\n\r\n", {hints + Ok("x")});
  EXPECT_THAT(old.client, Not(HasSubstr("100")));
}

TEST(KeepaliveFramer, AnUpgradeLosesNothing) {
  const Heard heard = PlayEveryWay(Get("/", "Connection: Upgrade\r\nUpgrade: websocket\r\n") + "EARLY",
                                   {"HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nHELLO"});
  EXPECT_TRUE(heard.tunnel);
  EXPECT_EQ(heard.tunnel_to_upstream, "EARLY");
  EXPECT_EQ(heard.tunnel_to_client, "HELLO");
}

TEST(KeepaliveFramer, A101ThatNobodyAskedForIsNone) {
  const Heard heard = PlayEveryWay(Get("/"), {"HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nHELLO"});
  EXPECT_EQ(heard.client, "<bad answer>");
}

TEST(KeepaliveFramer, AnAnswerUntilTheEndIsTheLast) {
  const Heard heard = PlayEveryWay(Get("/1") + Get("/2"), {"HTTP/1.1 200 OK\r\n\r\nall of it" + Ok("no")});
  EXPECT_EQ(heard.upstream, Asked("/1"));
  EXPECT_EQ(heard.client, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it" + Ok("no"));
}

TEST(KeepaliveFramer, ChunksEndInDataForHttp10) {
  const Heard heard = PlayEveryWay("GET http://o/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
                                   {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"});
  EXPECT_EQ(heard.client, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello");
}

TEST(KeepaliveFramer, MalformedBodiesAreRefused) {
  const std::string head = "POST http://o/ HTTP/1.1\r\nHost: o\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char* bad : {"5\nhello", "g\r\n", "1\r\nab\r\n", "0\r\nA : b\r\n\r\n"}) {
    const Heard heard = PlayEveryWay(head + bad + "   ", {Ok("never")});
    EXPECT_EQ(heard.client, "<bad request>") << bad;
    EXPECT_THAT(heard.over, ElementsAre("bad request")) << bad;
  }
}

TEST(KeepaliveFramer, AnAnswerCutOffIsNotWhole) {
  for (const char* head : {"Content-Length: 10", "Transfer-Encoding: chunked"}) {
    const Heard heard = PlayEveryWay(Get("/"), {absl::StrCat("HTTP/1.1 200 OK\r\n", head, "\r\n\r\n5\r\nabc")});
    EXPECT_TRUE(heard.aborted) << head;
    EXPECT_THAT(heard.over, ElementsAre("cut")) << head;
  }
  EXPECT_EQ(PlayEveryWay(Get("/"), {}).client, "<no answer>");
  EXPECT_EQ(PlayEveryWay(Get("/"), {"HTTP/1.1 200 OK\r\nCont"}).client, "<bad answer>");
}

TEST(KeepaliveFramer, RequestsForOthersLeaveTheSession) {
  for (const char* next : {"GET http://other/ HTTP/1.1\r\nHost: o\r\n\r\n", "CONNECT o:80 HTTP/1.1\r\n\r\n",
                           "GET / HTTP/1.1\r\nHost: o\r\nHost: o\r\n\r\n", "garbage\r\n\r\n", "a\nb"}) {
    const Heard heard = PlayEveryWay(Get("/1") + next, {Ok("one")});
    EXPECT_EQ(heard.upstream, Asked("/1")) << next;
    EXPECT_EQ(heard.client, Ok("one")) << next;
    EXPECT_TRUE(heard.refused) << next;
  }
}

// One step after the other.
class StepsTest : public ::testing::Test {
 protected:
  using Next = relay::Framer::Next;
  static constexpr int kUp = 0, kDown = 1;

  // The first request, as the handshake has read it; gives what goes to the upstream.
  std::string Begin(const std::string& head, const std::string& behind, bool reused) {
    RequestHead request;
    EXPECT_TRUE(ParseRequestHead(head, request).ok()) << head;
    return framer_.Begin(request, head, behind, reused);
  }
  Next Show(int direction, const std::string& bytes, std::string& out) {
    const relay::Framer::Step step = framer_.OnBytes(direction, bytes, out);
    out.append(bytes, step.pass_begin, step.pass_bytes);
    return step.next;
  }

  const ForwardingPolicy policy_{service::ClientDisclosure::kNothing, "p:1"};
  std::vector<std::string> over_;
  RecordingFramer framer_{&policy_, &over_};
};

TEST_F(StepsTest, ParentsChallengeIsTheClientsOnlyIfItsCredentialsAre) {
  const std::string challenge =
      "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=\"p\"\r\nContent-Length: 0\r\n\r\n";
  for (const bool clients : {false, true}) {
    ForwardingPolicy policy{service::ClientDisclosure::kNothing, "p:1"};
    policy.to_proxy = true;
    policy.passes_challenges = clients;
    std::vector<std::string> over;
    RecordingFramer framer(&policy, &over);
    RequestHead request;
    const std::string head = "GET http://o/ HTTP/1.1\r\nHost: o\r\n\r\n";
    ASSERT_TRUE(ParseRequestHead(head, request).ok());
    framer.Begin(request, head, "", /*reused=*/false);
    std::string out;
    const relay::Framer::Step step = framer.OnBytes(kDown, challenge, out);
    EXPECT_EQ(step.next, clients ? Next::kGoOn : Next::kClose);
    EXPECT_EQ(out.find("Proxy-Authenticate: Basic") != std::string::npos, clients) << out;
  }
}

std::string Post(const std::string& body) {
  return absl::StrCat("POST http://o/ HTTP/1.1\r\nHost: o\r\nContent-Length: ", body.size(), "\r\n\r\n");
}

TEST_F(StepsTest, WhatMayBeRepeatedIsSentAgainWithItsBody) {
  const std::string head = "PUT http://o/ HTTP/1.1\r\nHost: o\r\nContent-Length: 4\r\n\r\n";
  Begin(head, "", /*reused=*/true);
  std::string out;
  Show(kUp, "body", out);
  EXPECT_EQ(framer_.OnEnd(kDown, ECONNRESET, 0), Next::kReturn);
  EXPECT_TRUE(framer_.wants_fresh_upstream());
  EXPECT_EQ(framer_.TakeHeld(), head + "body");
  EXPECT_THAT(over_, ElementsAre("again"));
}

TEST_F(StepsTest, WhatMayNotBeRepeatedIsSentAgainOnlyIfNoneOfItHasArrived) {
  for (const int64_t missing : {0, 1, 2}) {
    std::vector<std::string> over;
    RecordingFramer framer(&policy_, &over);
    RequestHead request;
    const std::string head = Post("ab");
    ASSERT_TRUE(ParseRequestHead(head, request).ok());
    int64_t sent = static_cast<int64_t>(framer.Begin(request, head, "ab", /*reused=*/true).size());
    ASSERT_TRUE(framer.HoldsInput());
    std::string out;
    framer.OnBytes(kUp, absl::string_view(), out);
    EXPECT_EQ(out, "ab");
    sent += 2;
    const Next next = framer.OnEnd(kDown, 0, sent - missing);
    EXPECT_EQ(next == Next::kReturn, missing == 0) << missing;
    EXPECT_EQ(framer.TakeHeld(), missing == 0 ? head + "ab" : "") << missing;
    EXPECT_EQ(framer.TakeAnswer(), missing == 0 ? "" : "<no answer>");
  }
}

TEST_F(StepsTest, OnAFreshUpstreamNothingIsSentAgain) {
  const int64_t sent = static_cast<int64_t>(Begin(Get("/"), "", /*reused=*/false).size());
  EXPECT_EQ(framer_.OnEnd(kDown, 0, sent), Next::kClose);
  EXPECT_EQ(framer_.TakeAnswer(), "<no answer>");
}

TEST_F(StepsTest, ALongUploadAndOneWithAnAnswerAreNotSentAgain) {
  const std::string body(KeepaliveFramer::kMostRetryBytes, 'x');
  Begin(Post(body), body, /*reused=*/true);
  std::string out;
  framer_.OnBytes(kUp, absl::string_view(), out);
  EXPECT_EQ(framer_.OnEnd(kDown, 0, 1 << 20), Next::kClose);

  RecordingFramer other(&policy_, &over_);
  RequestHead request;
  const std::string head = Get("/");
  ASSERT_TRUE(ParseRequestHead(head, request).ok());
  other.Begin(request, head, "", /*reused=*/true);
  other.OnBytes(kDown, "HTTP/1.1 100 Continue\r\n\r\n", out);
  EXPECT_EQ(other.OnEnd(kDown, 0, 1 << 20), Next::kClose);
}

TEST_F(StepsTest, AClientThatWaitsIsToldToContinueOnce) {
  const std::string head = "POST http://o/ HTTP/1.1\r\nHost: o\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
  EXPECT_THAT(Begin(head, "", false), HasSubstr("Expect: 100-continue"));
  EXPECT_TRUE(framer_.AwaitsContinue());
  EXPECT_EQ(framer_.OnWaited(), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_FALSE(framer_.AwaitsContinue());
  std::string out;
  Show(kUp, "ab", out);
  std::string answer;
  Show(kDown, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\n\r\n" + Ok("x"), answer);
  EXPECT_EQ(answer, "HTTP/1.1 103 Early\r\n\r\n" + Ok("x"));
}

TEST_F(StepsTest, AClientThatGoesOnByItselfOrIsAnsweredAwaitsNothing) {
  const std::string head = "POST http://o/ HTTP/1.1\r\nHost: o\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";
  for (const bool answered : {true, false}) {
    std::vector<std::string> over;
    RecordingFramer framer(&policy_, &over);
    RequestHead request;
    ASSERT_TRUE(ParseRequestHead(head, request).ok());
    framer.Begin(request, head, "", false);
    std::string out;
    if (answered) {
      framer.OnBytes(kDown, "HTTP/1.1 417 No\r\nContent-Length: 10\r\n\r\nx", out);
      EXPECT_THAT(out, HasSubstr("Connection: close"));
    } else {
      framer.OnBytes(kUp, "ab", out);
    }
    EXPECT_FALSE(framer.AwaitsContinue()) << answered;
  }
  RequestHead old;
  const std::string head10 = "POST http://o/ HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";
  ASSERT_TRUE(ParseRequestHead(head10, old).ok());
  framer_.Begin(old, head10, "", false);
  EXPECT_FALSE(framer_.AwaitsContinue());
}

TEST_F(StepsTest, InformationalAnswersHaveAnEnd) {
  Begin(Get("/"), "", false);
  std::string hint = "HTTP/1.1 103 Early\r\n\r\n", out;
  for (int i = 0; i < 100; ++i) ASSERT_EQ(Show(kDown, hint, out), Next::kGoOn);
  EXPECT_EQ(Show(kDown, hint, out), Next::kClose);
  EXPECT_EQ(framer_.TakeAnswer(), "<bad answer>");
}

TEST_F(StepsTest, AHeadInPartIsSaidToBe) {
  Begin(Get("/"), "", false);
  std::string out;
  EXPECT_FALSE(framer_.HeadInPart());
  Show(kDown, "HTTP/1.1 2", out);
  EXPECT_TRUE(framer_.HeadInPart());
  Show(kDown, "00 OK\r\nContent-Length: 1\r\n\r\n", out);
  EXPECT_FALSE(framer_.HeadInPart());
}

TEST_F(StepsTest, ARequestThatWaitsBehindAHeadGoesElsewhere) {
  // The origin sends a body all the same, a moment later.
  const std::string head = "HEAD http://o/ HTTP/1.1\r\nHost: o\r\n\r\n";
  Begin(head, Get("/next"), false);
  std::string out;
  EXPECT_EQ(Show(kDown, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", out), Next::kReturn);
  EXPECT_FALSE(framer_.UpstreamIsReusable());
  EXPECT_EQ(framer_.TakeHeld(), Get("/next"));
}

}  // namespace
}  // namespace sluice::http
