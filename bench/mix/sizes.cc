#include "bench/mix/sizes.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sluice::bench::mix {

uint64_t Random::Next() {
  uint64_t value = state_ += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

double Random::Uniform() { return (static_cast<double>(Next() >> 11) + 1) / 9007199254740992.0; }

int64_t NextAnswerBytes(Random& random) {
  // Box and Muller; the second of the pair is not worth keeping.
  const double radius = std::sqrt(-2 * std::log(random.Uniform()));
  const double normal = radius * std::cos(2 * std::numbers::pi * random.Uniform());
  const double bytes = static_cast<double>(kMedianAnswerBytes) * std::exp(kAnswerSigma * normal);
  return static_cast<int64_t>(std::clamp(bytes, 1.0, static_cast<double>(kMostAnswerBytes)));
}

}  // namespace sluice::bench::mix
