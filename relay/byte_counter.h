#ifndef SLUICE_RELAY_BYTE_COUNTER_H_
#define SLUICE_RELAY_BYTE_COUNTER_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

namespace sluice::relay {

// The bytes that a rule counts over all its sessions, and how many it allows. They move as the bytes do: a session is
// stopped in its course, and one that begins sees what the others have used.
//
// Thread-safe; no call blocks.
class ByteCounter {
 public:
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  explicit ByteCounter(int64_t limit_bytes = kUnlimited) : limit_bytes_(limit_bytes) {}
  ByteCounter(const ByteCounter&) = delete;
  ByteCounter& operator=(const ByteCounter&) = delete;

  void Add(int64_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  int64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // Those that may still come. Workers that ask at the same moment may exceed it by a read each.
  int64_t left() const {
    const int64_t limit = limit_bytes_.load(std::memory_order_relaxed);
    return limit == kUnlimited ? kUnlimited : std::max<int64_t>(0, limit - bytes());
  }

  // A new period, or what a file said.
  void Set(int64_t bytes) { bytes_.store(bytes, std::memory_order_relaxed); }
  void SetLimit(int64_t limit_bytes) { limit_bytes_.store(limit_bytes, std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> bytes_{0};
  std::atomic<int64_t> limit_bytes_;
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_BYTE_COUNTER_H_
