#include "relay/rate_limiter.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice::relay {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// In floating point: 64 bits hold neither a gigabyte at 300 bit/s nor an hour at 100 Gbit/s in these units, and the
// error of 2^-53 is none.
int64_t NanosFor(int64_t bytes, int64_t bits_per_second) {
  return static_cast<int64_t>(std::ceil(static_cast<double>(bytes) * 8e9 / static_cast<double>(bits_per_second)));
}

int64_t BytesIn(int64_t nanos, int64_t bits_per_second) {
  return static_cast<int64_t>(static_cast<double>(nanos) * static_cast<double>(bits_per_second) / 8e9);
}

int64_t BucketNanos(int64_t bits_per_second) {
  return std::max(RateLimiter::kBurstNanos, NanosFor(RateLimiter::kLeastBurstBytes, bits_per_second));
}

}  // namespace

int64_t RateLimiter::TurnBytes() const {
  const int64_t rate = bits_per_second();
  if (rate <= 0) return kUnlimited;
  const int64_t most = std::max(kLeastBurstBytes, BytesIn(kMostTurnNanos, rate));
  const int64_t round = BytesIn(kRoundNanos, rate) / (1 + waiting_.load(std::memory_order_relaxed));
  const int64_t turn = std::clamp(round, BytesIn(kLeastTurnNanos, rate), most);
  return std::clamp<int64_t>(turn, 1, kMostTurnBytes);
}

int64_t RateLimiter::ReadyBytes(sys::MonotonicNanos now) const {
  const int64_t rate = bits_per_second();
  if (rate <= 0) return kUnlimited;
  const int64_t held_nanos = std::min(now - paid_until_.load(std::memory_order_relaxed), BucketNanos(rate));
  if (held_nanos <= 0) return 0;
  const int64_t held = BytesIn(held_nanos, rate);
  return held * 4 >= TurnBytes() ? held : 0;
}

bool RateLimiter::IsFull(sys::MonotonicNanos now) const {
  const int64_t rate = bits_per_second();
  return rate <= 0 || now - paid_until_.load(std::memory_order_relaxed) >= BucketNanos(rate);
}

sys::MonotonicNanos RateLimiter::Reserve(int64_t bytes, sys::MonotonicNanos now) {
  const int64_t rate = bits_per_second();
  if (rate <= 0) return now;
  const int64_t cost = NanosFor(bytes, rate);
  const int64_t earliest = now - BucketNanos(rate);
  int64_t paid = paid_until_.load(std::memory_order_relaxed);
  int64_t next;
  do {
    next = std::max(paid, earliest) + cost;
  } while (!paid_until_.compare_exchange_weak(paid, next, std::memory_order_relaxed));
  return next;
}

void RateLimiter::GiveBack(int64_t bytes) {
  const int64_t rate = bits_per_second();
  if (rate > 0 && bytes > 0) paid_until_.fetch_sub(NanosFor(bytes, rate), std::memory_order_relaxed);
}

void RateLimiter::SetRate(int64_t bits_per_second) {
  if (bits_per_second_.exchange(bits_per_second) == bits_per_second) return;
  paid_until_.store(0, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
}

}  // namespace sluice::relay
