#include "bench/link/link_model.h"

#include <algorithm>

namespace sluice::bench::link {
namespace {

constexpr size_t kForgetAt = 1024;

double NanosPerByte(int64_t bits_per_second) {
  return bits_per_second > 0 ? 8.0 * sys::kNanosPerSecond / static_cast<double>(bits_per_second) : 0;
}

}  // namespace

LinkDirection::LinkDirection(const LinkOptions& options)
    : options_(options),
      nanos_per_byte_(NanosPerByte(options.bits_per_second)),
      queue_nanos_(static_cast<int64_t>(static_cast<double>(options.queue_packets * kMtu) * nanos_per_byte_)),
      forget_at_(kForgetAt),
      random_(options.seed) {}

LinkDirection::Fate LinkDirection::Enter(uint64_t flow, size_t bytes, sys::MonotonicNanos now,
                                         sys::MonotonicNanos* arrival) {
  sys::MonotonicNanos departure = now;
  if (nanos_per_byte_ > 0 && !Shape(flow, bytes, now, &departure)) return Fate::kQueueFull;
  if (Loses()) return Fate::kLost;
  *arrival = departure + options_.delay_nanos;
  return Fate::kArrives;
}

bool LinkDirection::Shape(uint64_t flow, size_t bytes, sys::MonotonicNanos now, sys::MonotonicNanos* departure) {
  if (free_at_.size() >= forget_at_) ForgetIdle(now);
  sys::MonotonicNanos& free_at = free_at_[flow];
  const sys::MonotonicNanos begins = std::max(free_at, now);
  if (begins - now > queue_nanos_) return false;
  free_at = begins + static_cast<int64_t>(static_cast<double>(bytes) * nanos_per_byte_);
  *departure = free_at;
  return true;
}

// When the number of connections has doubled since the last time: its cost is a constant for each packet.
void LinkDirection::ForgetIdle(sys::MonotonicNanos now) {
  absl::erase_if(free_at_, [now](const auto& entry) { return entry.second <= now; });
  forget_at_ = std::max(kForgetAt, 2 * free_at_.size());
}

// splitmix64, by Sebastiano Vigna: the same sequence everywhere.
bool LinkDirection::Loses() {
  if (options_.loss <= 0) return false;
  uint64_t value = random_ += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  value ^= value >> 31;
  return static_cast<double>(value >> 11) / 9007199254740992.0 < options_.loss;
}

}  // namespace sluice::bench::link
