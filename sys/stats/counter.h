#ifndef SLUICE_SYS_STATS_COUNTER_H_
#define SLUICE_SYS_STATS_COUNTER_H_

#include <atomic>
#include <cstdint>

namespace sluice::sys {

// A number that one thread writes and any thread reads. Writing is a plain load and store, without the lock prefix that
// makes a shared counter cost 20 times as much: each worker has its own counters, and whoever reports adds them up.
//
// The order in which several counters change is not seen by readers: sums of a running process may be off by what is
// under way.
//
// One writer at a time; value() thread-safe.
class Counter {
 public:
  Counter() = default;
  explicit Counter(int64_t start) : value_(start) {}
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  void Add(int64_t amount) { value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed); }
  void Increment() { Add(1); }
  // For levels (gauges).
  void Set(int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void RaiseTo(int64_t value) {
    if (value > this->value()) Set(value);
  }

  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// The same for a number that several threads write: one locked instruction each time, so not for the data path.
class SharedCounter {
 public:
  SharedCounter() = default;
  SharedCounter(const SharedCounter&) = delete;
  SharedCounter& operator=(const SharedCounter&) = delete;

  // The value after it.
  int64_t Add(int64_t amount) { return value_.fetch_add(amount, std::memory_order_relaxed) + amount; }
  int64_t Increment() { return Add(1); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

}  // namespace sluice::sys

#endif  // SLUICE_SYS_STATS_COUNTER_H_
