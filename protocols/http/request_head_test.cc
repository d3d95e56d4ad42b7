#include "protocols/http/request_head.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace sluice::http {
namespace {

// "host:port path [body] [keep]", or the status of the refusal.
std::string Read(const std::string& head) {
  RequestHead request;
  if (HeadError error = ParseRequestHead(head, request); !error.ok()) return std::to_string(error.status);
  std::string text = absl::StrCat(request.authority.ToString(0), " ", request.path);
  if (request.body == BodyKind::kLength) absl::StrAppend(&text, " ", request.body_bytes);
  if (request.body == BodyKind::kChunked) absl::StrAppend(&text, " chunked");
  if (request.keep_alive) absl::StrAppend(&text, " keep");
  return text;
}

std::string Line(const std::string& line) { return Read(absl::StrCat(line, "\r\nHost: h\r\n\r\n")); }

// testdata/http/requests.txt: a request in C escapes, " => ", what it is read as.
TEST(ParseRequestHead, ReadsTheTable) {
  std::ifstream in("testdata/http/requests.txt");
  ASSERT_TRUE(in.is_open());
  int cases = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> parts = absl::StrSplit(line, " => ");
    ASSERT_EQ(parts.size(), 2u) << line;
    std::string head;
    ASSERT_TRUE(absl::CUnescape(parts[0], &head)) << line;
    HeadScanner scanner;
    const HeadScanner::State state = scanner.Scan(head);
    ++cases;
    if (state == HeadScanner::State::kBad) {
      EXPECT_EQ(std::to_string(scanner.error().status), parts[1]) << line;
      continue;
    }
    ASSERT_EQ(state, HeadScanner::State::kWhole) << line;
    EXPECT_EQ(Read(head.substr(scanner.leading_bytes(), scanner.end() - scanner.leading_bytes())), parts[1]) << line;
  }
  EXPECT_GT(cases, 60);
}

TEST(ParseRequestHead, LinesThatAreNone) {
  EXPECT_EQ(Line("GET / HTTP/1.1"), "h:80 / keep");
  for (const char* bad : {"GET",
                          "GET /",
                          "GET  / HTTP/1.1",
                          "GET /  HTTP/1.1",
                          "GET / x HTTP/1.1",
                          "GET\t/ HTTP/1.1",
                          " GET / HTTP/1.1",
                          "GET / HTTP/1.1 ",
                          "GET / HTTP/2.0",
                          "GET / HTTP/1.10",
                          "GET / http/1.1",
                          "GET / HTTP/1.x",
                          "GET / HTTP/0.9",
                          "G(T / HTTP/1.1",
                          " / HTTP/1.1",
                          "PRI * HTTP/2.0",
                          "GET foo HTTP/1.1",
                          "GET * HTTP/1.1",
                          "GET /a#b HTTP/1.1",
                          "GET /a\tb HTTP/1.1"}) {
    EXPECT_EQ(Line(bad), "400") << bad;
  }
}

TEST(ParseRequestHead, UrlWinsOverHost) {
  EXPECT_EQ(Read("GET http://allowed.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n"), "allowed.test:80 / keep");
  EXPECT_EQ(Read("GET HTTP://u:p@a.test:81?q HTTP/1.0\r\n\r\n"), "a.test:81 ?q");
  EXPECT_EQ(Read("GET http://[::1]:8080/x HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n"), "[::1]:8080 /x keep");
}

TEST(ParseRequestHead, UserinfoIsNotPrinted) {
  RequestHead request;
  ASSERT_TRUE(ParseRequestHead("GET http://u:se@cret@a.test/x@y HTTP/1.0\r\n\r\n", request).ok());
  EXPECT_EQ(RedactedTarget(request), "http://a.test/x@y");
}

TEST(ParseRequestHead, UpgradeNeedsItsConnectionOptionAndNoBody) {
  const auto upgrade = [](const std::string& fields) {
    RequestHead request;
    const std::string head = absl::StrCat("GET / HTTP/1.1\r\nHost: h\r\n", fields, "\r\n");
    EXPECT_TRUE(ParseRequestHead(head, request).ok());
    return std::string(request.upgrade);
  };
  EXPECT_EQ(upgrade("Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"), "websocket");
  EXPECT_EQ(upgrade("Upgrade: websocket\r\n"), "");
  EXPECT_EQ(upgrade("Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n"), "");
  EXPECT_EQ(upgrade("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"), "");
}

TEST(ParseRequestHead, MaxForwardsConcernsTwoMethods) {
  const auto forwards = [](const std::string& method, const std::string& value) {
    RequestHead request;
    const std::string head = absl::StrCat(method, " / HTTP/1.1\r\nHost: h\r\nMax-Forwards: ", value, "\r\n\r\n");
    return ParseRequestHead(head, request).ok() ? request.max_forwards : -2;
  };
  EXPECT_EQ(forwards("GET", "x"), -1);
  EXPECT_EQ(forwards("TRACE", "0"), 0);
  EXPECT_EQ(forwards("OPTIONS", "12"), 12);
  EXPECT_EQ(forwards("OPTIONS", "-1"), -2);
  EXPECT_EQ(forwards("OPTIONS", "99999999999"), -2);
}

}  // namespace
}  // namespace sluice::http
