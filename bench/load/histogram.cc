#include "bench/load/histogram.h"

#include <cmath>

namespace sluice::bench {

Histogram::Histogram() : buckets_((64 - kBits + 1) * kPerOctave) {}

uint64_t Histogram::LastOf(unsigned bucket) {
  if (bucket < kPerOctave) return bucket;
  unsigned shift = bucket / kPerOctave - 1;
  uint64_t first = (bucket % kPerOctave + kPerOctave) << shift;
  return first + ((uint64_t{1} << shift) - 1);
}

uint64_t Histogram::Percentile(double fraction) const {
  if (count_ == 0) return 0;
  uint64_t wanted = static_cast<uint64_t>(std::ceil(fraction * static_cast<double>(count_)));
  if (wanted == 0) wanted = 1;
  uint64_t seen = 0;
  for (unsigned i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen >= wanted) return LastOf(i);
  }
  return LastOf(static_cast<unsigned>(buckets_.size()) - 1);
}

}  // namespace sluice::bench
