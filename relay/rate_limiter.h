#ifndef SLUICE_RELAY_RATE_LIMITER_H_
#define SLUICE_RELAY_RATE_LIMITER_H_

#include <atomic>
#include <cstdint>

#include "sys/thread/clock.h"

namespace sluice::relay {

// The bandwidth of one rule, shared by all sessions that it concerns, on all workers.
//
// A token bucket that keeps a time instead of tokens: the moment until which everything granted is paid for. Whoever
// wants to move bytes takes the next turn behind that moment (one compare-and-swap) and comes back when it is reached;
// so sessions that want more than there is get their turns one after the other, of equal size, whichever worker they
// are on, and nobody looks twice. What was not used of a turn is given back.
//
// The bucket holds the larger of 16 KB, one small read, and 20 ms of the rate: that much may follow a pause at once. A
// turn is what comes in 250 ms, divided by those who wait, but at least 5 ms of the rate, and at most the larger of
// 16 KB and 10 ms of it, or 256 KB (a full pipe): so few wake-ups for one session, short rounds for many, a wait behind
// somebody else's turn that does not make the bucket overflow, and a few bytes now and then at 300 bit/s.
//
// Thread-safe; no call blocks.
class RateLimiter {
 public:
  static constexpr int64_t kLeastBurstBytes = 16 * 1024;
  static constexpr int64_t kBurstNanos = 20 * sys::kNanosPerMilli;
  static constexpr int64_t kRoundNanos = 250 * sys::kNanosPerMilli;
  static constexpr int64_t kLeastTurnNanos = 5 * sys::kNanosPerMilli;
  static constexpr int64_t kMostTurnNanos = 10 * sys::kNanosPerMilli;
  static constexpr int64_t kMostTurnBytes = 256 * 1024;

  // 0 = no limit (any more: a rule that a reload has taken away while sessions hold it).
  explicit RateLimiter(int64_t bits_per_second) : bits_per_second_(bits_per_second) {}
  RateLimiter(const RateLimiter&) = delete;
  RateLimiter& operator=(const RateLimiter&) = delete;

  // The size of a turn now.
  int64_t TurnBytes() const;
  // Bytes that are there without waiting, and are worth a read: a quarter of a turn or more, else 0.
  int64_t ReadyBytes(sys::MonotonicNanos now) const;
  // Nobody has used it for so long that it would give a newcomer all that it holds.
  bool IsFull(sys::MonotonicNanos now) const;
  // Takes a turn of `bytes`; they may be moved from the time on that is returned, which may be past.
  sys::MonotonicNanos Reserve(int64_t bytes, sys::MonotonicNanos now);
  // Of a turn: not moved after all.
  void GiveBack(int64_t bytes);
  // Bytes that were moved without asking (read by a handshake).
  void Charge(int64_t bytes, sys::MonotonicNanos now) { Reserve(bytes, now); }

  // How many sessions wait for their turn; counted by them.
  void BeginWaiting() { waiting_.fetch_add(1, std::memory_order_relaxed); }
  void EndWaiting() { waiting_.fetch_sub(1, std::memory_order_relaxed); }

  // A reload may change the rate: turns that were taken before are void (see epoch).
  void SetRate(int64_t bits_per_second);
  int64_t bits_per_second() const { return bits_per_second_.load(std::memory_order_relaxed); }
  // Grows with each change of the rate. Whoever took a turn under another epoch takes a new one, and gives none back.
  uint32_t epoch() const { return epoch_.load(std::memory_order_acquire); }

 private:
  std::atomic<int64_t> bits_per_second_;
  std::atomic<int64_t> paid_until_{0};
  std::atomic<int> waiting_{0};
  std::atomic<uint32_t> epoch_{0};
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_RATE_LIMITER_H_
