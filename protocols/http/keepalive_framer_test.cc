#include "protocols/http/keepalive_framer.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protocols/http/testing/conversation.h"

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

}  // namespace
}  // namespace sluice::http
