// The pure parts of the load: sizes, arrivals, content, limits, options, figures.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "bench/mix/arrivals.h"
#include "bench/mix/content.h"
#include "bench/mix/figures.h"
#include "bench/mix/load_options.h"
#include "bench/mix/sizes.h"

namespace sluice::bench::mix {
namespace {

using ::testing::HasSubstr;

TEST(SizesTest, AreLogNormalAboutTheMedian) {
  Random random(7);
  std::vector<int64_t> sizes(200'000);
  double sum = 0;
  for (int64_t& size : sizes) sum += static_cast<double>(size = NextAnswerBytes(random));
  std::sort(sizes.begin(), sizes.end());
  const auto at = [&](double fraction) {
    return static_cast<double>(sizes[static_cast<size_t>(fraction * static_cast<double>(sizes.size()))]);
  };
  EXPECT_NEAR(at(0.5), 12 * 1024, 400);
  // One sigma up and down: a factor of e^1.6.
  EXPECT_NEAR(at(0.8413) / at(0.5), 4.95, 0.2);
  EXPECT_NEAR(at(0.5) / at(0.1587), 4.95, 0.2);
  EXPECT_NEAR(sum / static_cast<double>(sizes.size()), 43'500, 3'000);
  EXPECT_GE(sizes.front(), 1);
  EXPECT_EQ(sizes.back(), kMostAnswerBytes);
}

TEST(SizesTest, TheSeedDecides) {
  Random one(1), same(1), other(2);
  int different = 0;
  for (int i = 0; i < 100; ++i) {
    const int64_t size = NextAnswerBytes(one);
    EXPECT_EQ(size, NextAnswerBytes(same));
    different += size != NextAnswerBytes(other);
  }
  EXPECT_GT(different, 90);
  // For good: figures of different builds are of the same load.
  EXPECT_EQ(Random(1).Next(), 0x910a2dec89025cc1u);
}

TEST(ArrivalsTest, AnOpenLoopKeepsItsTimes) {
  Arrivals arrivals(3000, 1'000, 1'000 + sys::kNanosPerSecond);
  EXPECT_TRUE(arrivals.open_loop());
  EXPECT_EQ(arrivals.Next(0), 1'000);
  int64_t count = 0;
  sys::MonotonicNanos last = 0;
  // Whatever the time is: what is late keeps the time it was due at.
  for (; arrivals.Next(5 * sys::kNanosPerSecond) != Arrivals::kNever; arrivals.Take(), ++count) {
    last = arrivals.Next(5 * sys::kNanosPerSecond);
  }
  EXPECT_EQ(count, 3000);
  EXPECT_NEAR(static_cast<double>(last), 1'000 + 2999.0 / 3000 * sys::kNanosPerSecond, 1);
}

TEST(ArrivalsTest, AClosedLoopIsAlwaysDueUntilTheEnd) {
  Arrivals arrivals(0, 1'000, 2'000);
  EXPECT_FALSE(arrivals.open_loop());
  arrivals.Take();
  EXPECT_EQ(arrivals.Next(1'500), 1'500);
  EXPECT_EQ(arrivals.Next(2'000), Arrivals::kNever);
}

std::string Body(uint64_t id, int64_t bytes) {
  std::string body;
  while (static_cast<int64_t>(body.size()) < bytes) {
    iovec pieces[kMostPieces];
    const auto offset = static_cast<int64_t>(body.size());
    const int count = ContentPieces(id, offset, bytes - offset, pieces);
    for (int i = 0; i < count; ++i) body.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
  }
  return body;
}

TEST(ContentTest, IsWhatTheHeaderSays) {
  for (const int64_t bytes : {int64_t{1}, int64_t{16}, int64_t{250}, kPieceBytes, 4 * kPieceBytes + 77}) {
    const std::string body = Body(1'000'003, bytes);
    ASSERT_EQ(static_cast<int64_t>(body.size()), bytes);
    for (size_t i = 0; i < body.size(); ++i) {
      ASSERT_EQ(static_cast<unsigned char>(body[i]), (1'000'003 + i) % kContentPeriod) << i;
    }
  }
  EXPECT_EQ(ContentPieces(1, 5, 0, nullptr), 0);
}

TEST(ContentTest, FitsInPiecesOfAnySize) {
  const std::string body = Body(5, 3000);
  for (size_t size : {1, 7, 16, 17, 250, 256, 1000, 3000}) {
    for (size_t at = 0; at < body.size(); at += size) {
      EXPECT_TRUE(ContentFits(5, static_cast<int64_t>(at), absl::string_view(body).substr(at, size)));
    }
  }
  EXPECT_TRUE(ContentFits(5, 0, ""));
}

TEST(ContentTest, SeesWhatAProxyCanDoWrong) {
  const std::string body = Body(5, 100'000);
  const auto fits = [](const std::string& bytes) { return ContentFits(5, 0, bytes); };
  ASSERT_TRUE(fits(body));
  EXPECT_FALSE(ContentFits(6, 0, body)) << "of another exchange";
  EXPECT_FALSE(ContentFits(5, 1, body)) << "a byte too early";
  EXPECT_FALSE(fits(body.substr(0, 16'384) + body.substr(32'768))) << "a buffer is lost";
  EXPECT_FALSE(fits(body.substr(0, 16'384) + body)) << "a buffer came twice";
  std::string zeroed = body;
  zeroed.replace(8192, 4096, 4096, '\0');
  EXPECT_FALSE(fits(zeroed)) << "a page is empty";
  for (const size_t at : {size_t{0}, body.size() - 1}) {
    std::string flipped = body;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    EXPECT_FALSE(fits(flipped)) << at;
  }
}

TEST(LimitsTest, TheSmallerLimitDecides) {
  EXPECT_EQ(MostConnections(20'000, 20'000), 9'000);
  EXPECT_EQ(MostConnections(1'024, 20'000), 924);
  EXPECT_EQ(MostConnections(20'000, 1'024), 461);
  EXPECT_EQ(MostConnections(10, 10), 1);
  const int64_t unlimited = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(MostConnections(unlimited, unlimited), 999'900);
}

TEST(LimitsTest, OfAnotherProcessAreRead) {
  EXPECT_EQ(ParseOpenFilesLimit("Limit                     Soft Limit           Hard Limit           Units     \n"
                                "Max processes             31000                31000                processes \n"
                                "Max open files            1024                 20000                files     \n"),
            1024);
  EXPECT_EQ(ParseOpenFilesLimit("Max open files  unlimited unlimited files\n"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ParseOpenFilesLimit("Max open files"), std::nullopt);
  EXPECT_EQ(ParseOpenFilesLimit("Max open files            x\n"), std::nullopt);
  EXPECT_EQ(ParseOpenFilesLimit(""), std::nullopt);
}

TEST(LoadOptionsTest, AllOfThem) {
  const absl::StatusOr<LoadOptions> options = ParseLoadOptions({"--via",
                                                                "socks",
                                                                "--proxy",
                                                                "10.0.1.1:1080",
                                                                "--origin",
                                                                "10.0.2.2:80",
                                                                "--open",
                                                                "9000",
                                                                "--active",
                                                                "2000",
                                                                "--rate",
                                                                "3000",
                                                                "--seconds",
                                                                "2.5",
                                                                "--warmup",
                                                                "0",
                                                                "--seed",
                                                                "3",
                                                                "--cpu",
                                                                "1",
                                                                "--json",
                                                                "--half-closing",
                                                                "7",
                                                                "--timeout=4",
                                                                "--proxy-pid=12",
                                                                "--http-half-close"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->via, Via::kSocks);
  EXPECT_EQ(options->proxy.ToString(), "10.0.1.1:1080");
  EXPECT_EQ(options->origin.ToString(), "10.0.2.2:80");
  EXPECT_EQ(options->open, 9000);
  EXPECT_EQ(options->active, 2000);
  EXPECT_EQ(options->rate, 3000);
  EXPECT_EQ(options->seconds, 2.5);
  EXPECT_EQ(options->warmup_seconds, 0);
  EXPECT_EQ(options->timeout_seconds, 4);
  EXPECT_EQ(options->half_closing_percent, 7);
  EXPECT_TRUE(options->http_half_close);
  EXPECT_EQ(options->seed, 3u);
  EXPECT_EQ(options->proxy_pid, 12);
  EXPECT_EQ(options->cpu, 1);
  EXPECT_TRUE(options->json);
}

TEST(LoadOptionsTest, TheLeast) {
  const absl::StatusOr<LoadOptions> options = ParseLoadOptions({"--via=none", "--origin=[::1]:80"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->open, 0);
  EXPECT_EQ(options->rate, 0);
  EXPECT_EQ(options->cpu, -1);
  EXPECT_TRUE(ParseLoadOptions({"--help"})->help);
}

TEST(LoadOptionsTest, WhatIsWrong) {
  const auto fault = [](std::vector<std::string> words) {
    words.insert(words.end(), {"--origin", "127.0.0.1:80"});
    return std::string(ParseLoadOptions(std::move(words)).status().message());
  };
  const std::string proxy = "--proxy=127.0.0.1:3128";
  EXPECT_EQ(fault({}), "--via : http, connect, socks, relay or none is needed");
  EXPECT_THAT(fault({"--via", "ftp"}), HasSubstr("--via ftp: http, connect"));
  EXPECT_EQ(fault({"--via", "http"}), "--proxy ADDRESS:PORT is needed");
  EXPECT_EQ(fault({"--via", "none", proxy}), "--via none has no --proxy");
  EXPECT_EQ(fault({"--via", "http", proxy, "--open", "5", "--active", "6"}), "--active 6: more than --open 5");
  EXPECT_THAT(fault({"--via", "http", proxy, "--rate", "0"}), HasSubstr("--rate 0: a number from 0.001"));
  EXPECT_THAT(fault({"--via", "http", proxy, "--half-closing", "101"}), HasSubstr("from 0 to 100"));
  EXPECT_THAT(std::string(ParseLoadOptions({"--via", "none"}).status().message()), HasSubstr("--origin"));
}

TEST(FiguresTest, JsonHasTheAgreedFields) {
  Figures figures;
  figures.open = 90;
  figures.active = 9;
  figures.exchanges = 4;
  figures.bytes = 400;
  figures.seconds = 2;
  figures.cpu_seconds = 0.001;
  for (int millis = 1; millis <= 4; ++millis) figures.Record(millis * sys::kNanosPerMilli);
  figures.Count(Failure::kCut, "after 5 bytes");
  figures.Count(Failure::kCut, "after 6 bytes");
  figures.Count(Failure::kStall, "x");
  const std::string json = figures.Json();
  EXPECT_THAT(json, HasSubstr("\"open\": 90, \"active\": 9, \"exchanges\": 4, \"failed\": 3, \"bytes\": 400, "
                              "\"seconds\": 2.000, \"p50_us\": 20"));
  EXPECT_THAT(json, HasSubstr("\"max_us\": 4000.0, \"cpu_us_per_exchange\": 250.00, \"per_second\": 2.0"));
  EXPECT_THAT(json, HasSubstr("\"failures\": {\"cut\": 2, \"stall\": 1}"));
  EXPECT_THAT(figures.Text(), HasSubstr("the first one was cut: after 5 bytes"));
}

TEST(FiguresTest, NothingMeasuredIsNoDivision) {
  EXPECT_THAT(Figures().Json(), HasSubstr("\"cpu_us_per_exchange\": 0.00, \"per_second\": 0.0"));
}

}  // namespace
}  // namespace sluice::bench::mix
