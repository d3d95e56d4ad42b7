#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "sys/stats/counter.h"
#include "sys/stats/histogram.h"

namespace sluice::sys {
namespace {

TEST(CounterTest, OneWritesOthersRead) {
  Counter counter;
  std::thread writer([&] {
    for (int i = 0; i < 100000; ++i) counter.Increment();
  });
  int64_t last = 0;
  while (last < 100000) {
    const int64_t now = counter.value();
    ASSERT_GE(now, last);
    last = now;
  }
  writer.join();
  counter.RaiseTo(5);
  EXPECT_EQ(counter.value(), 100000);
  counter.RaiseTo(100001);
  EXPECT_EQ(counter.value(), 100001);
}

TEST(CounterTest, SharedOnesLoseNothing) {
  SharedCounter counter;
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back([&] {
      for (int i = 0; i < 10000; ++i) counter.Add(2);
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(counter.value(), 80000);
  EXPECT_EQ(counter.Increment(), 80001);
}

TEST(HistogramTest, BucketsAreWithoutGapsAndOneSixteenthWide) {
  EXPECT_LT(sizeof(Histogram), size_t{7800});
  int64_t next = 0;
  for (int bucket = 0; bucket < Histogram::kBuckets; ++bucket) {
    const int64_t end = Histogram::UpperEnd(bucket);
    ASSERT_EQ(Histogram::BucketOf(next), bucket);
    ASSERT_EQ(Histogram::BucketOf(end), bucket);
    ASSERT_LE(end - next, next / 16);
    next = end + 1;
  }
  EXPECT_EQ(next, int64_t{1} << 62);
  EXPECT_EQ(Histogram::BucketOf(next), Histogram::kBuckets - 1);
  EXPECT_EQ(Histogram::BucketOf(std::numeric_limits<int64_t>::max()), Histogram::kBuckets - 1);
  EXPECT_EQ(Histogram::BucketOf(std::numeric_limits<int64_t>::min()), 0);
}

TEST(HistogramTest, PercentilesOfAnEvenSpread) {
  Histogram histogram;
  EXPECT_EQ(histogram.Percentile(50), 0);
  for (int64_t value = 1; value <= 10000; ++value) histogram.Add(value * 1000);
  EXPECT_EQ(histogram.count(), 10000);
  EXPECT_EQ(histogram.sum(), int64_t{1000} * 10000 * 10001 / 2);
  for (const double percent : {1.0, 50.0, 90.0, 99.0, 99.9}) {
    const double exact = percent / 100 * 10'000'000;
    const auto told = static_cast<double>(histogram.Percentile(percent));
    EXPECT_GE(told, exact * 0.999) << percent;
    EXPECT_LE(told, exact * 1.0625 + 1) << percent;
  }
}

TEST(HistogramTest, SmallValuesAreExact) {
  Histogram histogram;
  for (int i = 0; i < 99; ++i) histogram.Add(3);
  histogram.Add(12);
  histogram.Add(-5);
  EXPECT_EQ(histogram.Percentile(0), 0);
  EXPECT_EQ(histogram.Percentile(50), 3);
  EXPECT_EQ(histogram.Percentile(100), 12);
  EXPECT_EQ(histogram.sum(), 99 * 3 + 12);
}

TEST(HistogramTest, MergeAddsUp) {
  Histogram a, b;
  for (int i = 0; i < 10; ++i) a.Add(100);
  for (int i = 0; i < 30; ++i) b.Add(100000);
  a.Merge(b);
  EXPECT_EQ(a.count(), 40);
  EXPECT_EQ(a.Percentile(25), Histogram::UpperEnd(Histogram::BucketOf(100)));
  EXPECT_GE(a.Percentile(50), 100000);
}

}  // namespace
}  // namespace sluice::sys
