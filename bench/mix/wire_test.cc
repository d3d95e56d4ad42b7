#include "bench/mix/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sluice::bench::mix {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const sys::SocketAddress kOrigin = sys::SocketAddress::Ipv4(0x0a000202, 8080);

TEST(WireTest, ARequestIsReadAsItWasWritten) {
  for (const bool last : {false, true}) {
    const std::string text = RequestText({77, 12'345, last}, Via::kRelay, kOrigin) + "GET";
    Request request;
    size_t head_bytes = 0;
    for (size_t size = 0; size < text.size() - 3; ++size) {
      ASSERT_EQ(ParseRequest(absl::string_view(text).substr(0, size), &head_bytes, &request), Parsed::kMore) << size;
    }
    ASSERT_EQ(ParseRequest(text, &head_bytes, &request), Parsed::kDone);
    EXPECT_EQ(head_bytes, text.size() - 3);
    EXPECT_EQ(request.id, 77u);
    EXPECT_EQ(request.bytes, 12'345);
    EXPECT_EQ(request.last, last);
  }
}

TEST(WireTest, AnHttpProxyGetsTheAbsoluteForm) {
  EXPECT_THAT(RequestText({1, 2, false}, Via::kHttp, kOrigin),
              StartsWith("GET http://10.0.2.2:8080/2/1 HTTP/1.1\r\nHost: 10.0.2.2:8080\r\n"));
  EXPECT_THAT(RequestText({1, 2, true}, Via::kHttp, kOrigin), HasSubstr("\r\nConnection: close\r\n\r\n"));
  EXPECT_THAT(RequestText({1, 2, true}, Via::kSocks, kOrigin), Not(HasSubstr("Connection")));
}

// Some proxies hand on what they got.
TEST(WireTest, AnOriginTakesTheAbsoluteForm) {
  Request request;
  size_t head_bytes = 0;
  ASSERT_EQ(ParseRequest(RequestText({7, 12'345, true}, Via::kHttp, kOrigin), &head_bytes, &request), Parsed::kDone);
  EXPECT_EQ(request.id, 7u);
  EXPECT_EQ(request.bytes, 12'345);
  EXPECT_TRUE(request.last);
}

TEST(WireTest, RequestsOfOthersAreRefused) {
  Request request;
  size_t head_bytes = 0;
  for (const char* line :
       {"GET / HTTP/1.1", "POST /1/2 HTTP/1.1", "GET /1/2", "GET /1/2/3 HTTP/1.1", "GET /x/2 HTTP/1.1",
        "GET /-1/2 HTTP/1.1", "GET 1/2 HTTP/1.1", "GET /1/2 SPDY", "GET http://h HTTP/1.1", ""}) {
    EXPECT_EQ(ParseRequest(std::string(line) + "\r\n\r\n", &head_bytes, &request), Parsed::kBad) << line;
  }
  EXPECT_EQ(ParseRequest(std::string(kMostHeadBytes, 'x'), &head_bytes, &request), Parsed::kBad);
}

TEST(WireTest, AnAnswerIsReadAsItWasWritten) {
  const std::string text = AnswerText({77, 12'345, true}) + "body";
  AnswerHead answer;
  size_t head_bytes = 0;
  for (size_t size = 0; size < text.size() - 4; ++size) {
    ASSERT_EQ(ParseAnswer(absl::string_view(text).substr(0, size), &head_bytes, &answer), Parsed::kMore) << size;
  }
  ASSERT_EQ(ParseAnswer(text, &head_bytes, &answer), Parsed::kDone);
  EXPECT_EQ(head_bytes, text.size() - 4);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.length, 12'345);
  EXPECT_EQ(answer.id, 77u);
  EXPECT_TRUE(answer.closes);
}

TEST(WireTest, WhatAProxyMakesOfAnAnswer) {
  AnswerHead answer;
  size_t head_bytes = 0;
  ASSERT_EQ(ParseAnswer("HTTP/1.1 502 Bad Gateway\r\nVia: 1.1 x\r\ncontent-LENGTH:  9 \r\nx-exchange:8\r\n\r\n",
                        &head_bytes, &answer),
            Parsed::kDone);
  EXPECT_EQ(answer.status, 502);
  EXPECT_EQ(answer.length, 9);
  EXPECT_EQ(answer.id, 8u);
  EXPECT_FALSE(answer.closes);
  for (const auto& [text, closes] : {std::pair("HTTP/1.0 200 OK\r\n\r\n", true),
                                     std::pair("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n", false),
                                     std::pair("HTTP/1.1 200 OK\r\nConnection: Close\r\n\r\n", true)}) {
    answer = {};
    ASSERT_EQ(ParseAnswer(text, &head_bytes, &answer), Parsed::kDone) << text;
    EXPECT_EQ(answer.closes, closes) << text;
    EXPECT_EQ(answer.length, -1);
  }
  for (const char* bad :
       {"HTTP/1.1 2\r\n\r\n", "SSH-2.0\r\n\r\n", "\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 200 OK\r\nX-Exchange: -1\r\n\r\n"}) {
    EXPECT_EQ(ParseAnswer(bad, &head_bytes, &answer), Parsed::kBad) << bad;
  }
}

TEST(WireTest, Connect) {
  EXPECT_EQ(TunnelOpening(Via::kConnect, kOrigin), "CONNECT 10.0.2.2:8080 HTTP/1.1\r\nHost: 10.0.2.2:8080\r\n\r\n");
  EXPECT_EQ(NextTunnelStep(Via::kConnect, 0, kOrigin, "HTTP/1.1 200").kind, TunnelStep::kMore);
  const TunnelStep open = NextTunnelStep(Via::kConnect, 0, kOrigin, "HTTP/1.1 200 Ok\r\n\r\nmore");
  EXPECT_EQ(open.kind, TunnelStep::kOpen);
  EXPECT_EQ(open.consumed, 19u);
  const TunnelStep refused = NextTunnelStep(Via::kConnect, 0, kOrigin, "HTTP/1.0 503 No\r\n\r\n");
  EXPECT_EQ(refused.kind, TunnelStep::kRefused);
  EXPECT_EQ(refused.text, "CONNECT was answered with 503");
  EXPECT_EQ(NextTunnelStep(Via::kConnect, 0, kOrigin, "no HTTP at all\r\n\r\n").kind, TunnelStep::kRefused);
}

absl::string_view Bytes(const char* bytes, size_t size) { return absl::string_view(bytes, size); }

TEST(WireTest, Socks) {
  EXPECT_EQ(TunnelOpening(Via::kSocks, kOrigin), Bytes("\5\1\0", 3));
  EXPECT_EQ(NextTunnelStep(Via::kSocks, 0, kOrigin, "\5").kind, TunnelStep::kMore);
  EXPECT_EQ(NextTunnelStep(Via::kSocks, 0, kOrigin, Bytes("\5\2", 2)).kind, TunnelStep::kRefused);
  const TunnelStep send = NextTunnelStep(Via::kSocks, 0, kOrigin, Bytes("\5\0", 2));
  EXPECT_EQ(send.kind, TunnelStep::kSend);
  EXPECT_EQ(send.text, Bytes("\5\1\0\1\x0a\0\2\2\x1f\x90", 10));
  const TunnelStep six =
      NextTunnelStep(Via::kSocks, 0, sys::SocketAddress::Loopback(sys::AddressFamily::kIpv6, 80), Bytes("\5\0", 2));
  EXPECT_EQ(six.text, Bytes("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\x50", 22));

  const absl::string_view granted = Bytes("\5\0\0\1\x7f\0\0\1\x12\x34", 10);
  for (size_t size = 0; size < granted.size(); ++size) {
    EXPECT_EQ(NextTunnelStep(Via::kSocks, 1, kOrigin, granted.substr(0, size)).kind, TunnelStep::kMore) << size;
  }
  EXPECT_EQ(NextTunnelStep(Via::kSocks, 1, kOrigin, granted).kind, TunnelStep::kOpen);
  EXPECT_EQ(NextTunnelStep(Via::kSocks, 1, kOrigin, granted).consumed, 10u);
  EXPECT_EQ(NextTunnelStep(Via::kSocks, 1, kOrigin, Bytes("\5\0\0\3\1x\0\1", 8)).consumed, 8u);
  EXPECT_EQ(NextTunnelStep(Via::kSocks, 1, kOrigin, "\5\5  x").text, "SOCKS: refused with reply 5");
}

}  // namespace
}  // namespace sluice::bench::mix
