#include "bench/load/http.h"

#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

TEST(HttpTest, AHeadEndsWithAnEmptyLine) {
  EXPECT_EQ(HeadBytes("HTTP/1.1 200 OK\r\n\r"), 0u);
  EXPECT_EQ(HeadBytes("HTTP/1.1 200 OK\r\n\r\nbody"), 19u);
}

TEST(HttpTest, OneEndReadsWhatTheOtherMakes) {
  auto request = ParseRequestHead(MakeRequest("http://10.0.2.2:7006/50000", "10.0.2.2:7006", 2048, true));
  ASSERT_TRUE(request);
  EXPECT_EQ(request->answer_bytes, 50000u);
  EXPECT_EQ(request->body_bytes, 2048u);
  EXPECT_TRUE(request->close);
  auto answer = ParseAnswerHead(MakeAnswerHead(50000, false));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body_bytes, 50000u);
  EXPECT_FALSE(answer->close);
}

TEST(HttpTest, AnAnswerEndsWithItsConnectionWhenNothingElseSaysSo) {
  EXPECT_TRUE(ParseAnswerHead("HTTP/1.1 200 OK\r\n\r\n")->close);
  EXPECT_TRUE(ParseAnswerHead("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n")->close);
  EXPECT_FALSE(ParseAnswerHead("HTTP/1.0 200 OK\r\ncontent-length:5\r\nConnection: Keep-Alive\r\n\r\n")->close);
  EXPECT_TRUE(ParseAnswerHead("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\n")->close);
}

TEST(HttpTest, WhatIsNotUnderstoodIsRefused) {
  EXPECT_FALSE(ParseAnswerHead("SSH-2.0-x\r\n\r\n"));
  EXPECT_FALSE(ParseAnswerHead("HTTP/1.1 2x0 OK\r\n\r\n"));
  EXPECT_FALSE(ParseAnswerHead("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"));
  EXPECT_FALSE(ParseAnswerHead("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n"));
  EXPECT_FALSE(ParseRequestHead("GET /index.html HTTP/1.1\r\n\r\n"));
  EXPECT_FALSE(ParseRequestHead("GET /1\r\n\r\n"));
}

}  // namespace
}  // namespace sluice::bench
