#include "bench/load/histogram.h"

#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

TEST(HistogramTest, EmptyHasNoPercentile) { EXPECT_EQ(Histogram().Percentile(0.5), 0u); }

TEST(HistogramTest, SmallValuesAreExact) {
  Histogram histogram;
  for (uint64_t i = 1; i <= 63; ++i) histogram.Record(i);
  EXPECT_EQ(histogram.Percentile(0.5), 32u);
  EXPECT_EQ(histogram.Percentile(1), 63u);
  EXPECT_EQ(histogram.Percentile(0), 1u);
}

TEST(HistogramTest, LargeValuesAreWithinAFraction) {
  for (uint64_t value : {64ull, 1000ull, 65535ull, 65536ull, 123456789ull, 1ull << 40, (1ull << 63) + 5, ~0ull}) {
    Histogram histogram;
    histogram.Record(value);
    uint64_t got = histogram.Percentile(0.99);
    EXPECT_GE(got, value);
    EXPECT_LE(got - value, value / 64) << value;
  }
}

TEST(HistogramTest, PercentileCountsFromBelow) {
  Histogram histogram;
  for (int i = 0; i < 99; ++i) histogram.Record(10);
  histogram.Record(50);
  EXPECT_EQ(histogram.Percentile(0.99), 10u);
  EXPECT_EQ(histogram.Percentile(0.991), 50u);
  EXPECT_EQ(histogram.count(), 100u);
}

}  // namespace
}  // namespace sluice::bench
