#ifndef SLUICE_SYS_STATS_HISTOGRAM_H_
#define SLUICE_SYS_STATS_HISTOGRAM_H_

#include <array>
#include <bit>
#include <cstdint>

#include "sys/stats/counter.h"

namespace sluice::sys {

// How often values of each size came, in a fixed 7.6 KB and without an allocation: sixteen buckets to every power of
// two, so that a percentile is told to within 1/16 (6.25%) of its value; values under 16 are told exactly. Negative
// values count as 0, those from 2^62 on as the largest.
//
// Add() costs a few instructions. Percentiles of a histogram that is written meanwhile are those of some moment nearby.
//
// Threads: one writer at a time, any readers, as with Counter.
class Histogram {
 public:
  static constexpr int kPerPowerOfTwo = 16;
  static constexpr int kPowers = 62;  // the largest value is 2^62 - 1
  static constexpr int kBuckets = (kPowers - 3) * kPerPowerOfTwo;

  void Add(int64_t value) {
    buckets_[static_cast<size_t>(BucketOf(value))].Increment();
    count_.Increment();
    sum_.Add(value < 0 ? 0 : value);
  }

  // Adds what another one holds. This one's writer only.
  void Merge(const Histogram& other) {
    for (int bucket = 0; bucket < kBuckets; ++bucket)
      buckets_[static_cast<size_t>(bucket)].Add(other.in_bucket(bucket));
    count_.Add(other.count());
    sum_.Add(other.sum());
  }

  // The value that `percent` of 100 of all values do not exceed: the upper end of its bucket. 0 when there are none.
  int64_t Percentile(double percent) const {
    int64_t total = 0;
    for (const Counter& bucket : buckets_) total += bucket.value();
    if (total == 0) return 0;
    const double wanted = static_cast<double>(total) * percent / 100;
    int64_t seen = 0;
    int last = 0;
    for (int bucket = 0; bucket < kBuckets; ++bucket) {
      const int64_t here = in_bucket(bucket);
      if (here == 0) continue;
      seen += here;
      last = bucket;
      if (static_cast<double>(seen) >= wanted) break;
    }
    return UpperEnd(last);
  }

  int64_t count() const { return count_.value(); }
  int64_t sum() const { return sum_.value(); }
  int64_t in_bucket(int bucket) const { return buckets_[static_cast<size_t>(bucket)].value(); }

  // For exposition: which bucket a value falls into, and the largest value that does.
  static int BucketOf(int64_t value) {
    if (value < kPerPowerOfTwo) return value < 0 ? 0 : static_cast<int>(value);
    const int power = std::bit_width(static_cast<uint64_t>(value)) - 1;  // at least 4
    if (power >= kPowers) return kBuckets - 1;
    // The four bits below the leading one choose among the sixteen.
    const int within = static_cast<int>(value >> (power - 4)) & (kPerPowerOfTwo - 1);
    return (power - 3) * kPerPowerOfTwo + within;
  }
  static int64_t UpperEnd(int bucket) {
    if (bucket < kPerPowerOfTwo) return bucket;
    const int power = bucket / kPerPowerOfTwo + 3;
    const int64_t first = static_cast<int64_t>(kPerPowerOfTwo + bucket % kPerPowerOfTwo) << (power - 4);
    return first + (int64_t{1} << (power - 4)) - 1;
  }

 private:
  std::array<Counter, kBuckets> buckets_;
  Counter count_;
  Counter sum_;
};

}  // namespace sluice::sys

#endif  // SLUICE_SYS_STATS_HISTOGRAM_H_
