#ifndef SLUICE_BENCH_MIX_SIZES_H_
#define SLUICE_BENCH_MIX_SIZES_H_

#include <cstdint>

namespace sluice::bench::mix {

// A seeded stream of random numbers that is the same with every compiler and library (splitmix64, by Sebastiano Vigna).
// Thread-compatible.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  // In (0, 1].
  double Uniform();
  // 0 .. bound-1; the bias of bounds far under 2^64 does not matter here. REQUIRES: bound > 0.
  uint64_t Below(uint64_t bound) { return Next() % bound; }

 private:
  uint64_t state_;
};

// Sizes of web answers: log-normal, as measured on the web again and again: half are below 12 KB, some are very large.
// With this sigma the mean is about 43 KB, and one answer in 40,000 meets the cap.
constexpr int64_t kMedianAnswerBytes = 12 * 1024;
constexpr double kAnswerSigma = 1.6;
constexpr int64_t kMostAnswerBytes = 8 * 1024 * 1024;

// The size of the next answer: 1 .. kMostAnswerBytes.
int64_t NextAnswerBytes(Random& random);

}  // namespace sluice::bench::mix

#endif  // SLUICE_BENCH_MIX_SIZES_H_
