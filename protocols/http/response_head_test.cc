#include "protocols/http/response_head.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace sluice::http {
namespace {

std::string Read(const std::string& start, const std::string& fields = "", Method method = Method::kGet) {
  ResponseHead response;
  const std::string head = absl::StrCat(start, "\r\n", fields, "\r\n");
  if (HeadError error = ParseResponseHead(head, method, response); !error.ok()) return std::to_string(error.status);
  std::string text = absl::StrCat(response.status, " ");
  switch (response.body) {
    case BodyKind::kNone:
      absl::StrAppend(&text, "none");
      break;
    case BodyKind::kLength:
      absl::StrAppend(&text, response.body_bytes);
      break;
    case BodyKind::kChunked:
      absl::StrAppend(&text, "chunked");
      break;
    case BodyKind::kUntilClose:
      absl::StrAppend(&text, "close");
      break;
  }
  return absl::StrCat(text, response.keep_alive ? " keep" : "");
}

TEST(ParseResponseHead, StatusLines) {
  EXPECT_EQ(Read("HTTP/1.1 200 OK", "Content-Length: 2\r\n"), "200 2 keep");
  EXPECT_EQ(Read("HTTP/1.1 200", "Content-Length: 2\r\n"), "200 2 keep");
  EXPECT_EQ(Read("HTTP/1.1 200 ", "Content-Length: 2\r\n"), "200 2 keep");
  EXPECT_EQ(Read("HTTP/1.0 999 \x80 x", "Content-Length: 2\r\n"), "999 2");
  for (const char* bad : {"HTTP/1.1 65736 X", "HTTP/1.1 20 X", "HTTP/1.1 2000", "HTTP/2.0 200 X", "garbage", "",
                          "HTTP/1.1  200 X", "HTTP/1.1 099 X", "HTTP/1.1 -20 X", "http/1.1 200 X", "HTTP/1.1\t200 X",
                          "HTTP/1.1 2x0 X", " HTTP/1.1 200 X", "ICY 200 OK"}) {
    EXPECT_EQ(Read(bad), "502") << bad;
  }
}

TEST(ParseResponseHead, BodiesFollowMethodAndStatus) {
  const std::string length = "Content-Length: 50\r\n";
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  EXPECT_EQ(Read("HTTP/1.1 200 OK"), "200 close");
  EXPECT_EQ(Read("HTTP/1.1 200 OK", chunked), "200 chunked keep");
  EXPECT_EQ(Read("HTTP/1.1 200 OK", length, Method::kHead), "200 none keep");
  EXPECT_EQ(Read("HTTP/1.1 200 OK", chunked, Method::kHead), "200 none keep");
  EXPECT_EQ(Read("HTTP/1.1 200 OK", "", Method::kHead), "200 none keep");
  EXPECT_EQ(Read("HTTP/1.1 304 Not Modified", length), "304 none keep");
  EXPECT_EQ(Read("HTTP/1.1 204 No Content", "Content-Length: 0\r\n"), "204 none keep");
  EXPECT_EQ(Read("HTTP/1.1 103 Early Hints"), "103 none keep");
}

TEST(ParseResponseHead, KeepAliveIsAsked) {
  const std::string length = "Content-Length: 0\r\n";
  EXPECT_EQ(Read("HTTP/1.1 200 OK", length + "Connection: close\r\n"), "200 0");
  EXPECT_EQ(Read("HTTP/1.1 200 OK", length + "Connection: x, Close\r\n"), "200 0");
  EXPECT_EQ(Read("HTTP/1.0 200 OK", length), "200 0");
  EXPECT_EQ(Read("HTTP/1.0 200 OK", length + "Connection: Keep-Alive\r\n"), "200 0 keep");
  EXPECT_EQ(Read("HTTP/1.0 200 OK", length + "Connection: keep-alive, close\r\n"), "200 0");
}

TEST(ParseResponseHead, FramingFaultsAreRefusedWhateverTheMethod) {
  for (const Method method : {Method::kGet, Method::kHead}) {
    EXPECT_EQ(Read("HTTP/1.1 200 OK", "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", method), "502");
    EXPECT_EQ(Read("HTTP/1.1 200 OK", "Content-Length: +6\r\n", method), "502");
    EXPECT_EQ(Read("HTTP/1.1 200 OK", "Content-Length: 1\r\nContent-Length: 2\r\n", method), "502");
    EXPECT_EQ(Read("HTTP/1.1 200 OK", "Transfer-Encoding: gzip, chunked\r\n", method), "502");
    EXPECT_EQ(Read("HTTP/1.0 200 OK", "Transfer-Encoding: chunked\r\n", method), "502");
    EXPECT_EQ(Read("HTTP/1.1 200 OK", "A: b\r\n folded\r\n", method), "502");
  }
}

TEST(ParseResponseHead, AuthenticationOfConnectionsPins) {
  for (const char* scheme : {"NTLM", "Negotiate", "negotiate abc"}) {
    ResponseHead response;
    const std::string head = absl::StrCat("HTTP/1.1 401 No\r\nWWW-Authenticate: ", scheme, "\r\n\r\n");
    ASSERT_TRUE(ParseResponseHead(head, Method::kGet, response).ok());
    EXPECT_TRUE(response.pins) << scheme;
  }
  ResponseHead response;
  ASSERT_TRUE(
      ParseResponseHead("HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=x\r\n\r\n", Method::kGet, response).ok());
  EXPECT_FALSE(response.pins);
}

}  // namespace
}  // namespace sluice::http
