#ifndef SLUICE_RELAY_CONNECTION_BUDGET_H_
#define SLUICE_RELAY_CONNECTION_BUDGET_H_

#include <atomic>
#include <functional>
#include <utility>

namespace sluice::relay {

// `maxconn`: how many connections one service has at once, over all its workers. Counted from accept, whatever a
// connection is doing; a service at its limit stops accepting (clients wait in the kernel's backlog) and starts again
// when one ends.
//
// Thread-safe. Must outlive every Admission taken from it.
class ConnectionBudget {
 public:
  // `on_room` is called, from whichever thread ends a connection, when somebody was refused before and there is room
  // again.
  ConnectionBudget(int limit, std::function<void()> on_room) : limit_(limit), on_room_(std::move(on_room)) {}
  ConnectionBudget(const ConnectionBudget&) = delete;
  ConnectionBudget& operator=(const ConnectionBudget&) = delete;

  // False at the limit; then on_room will be called once there is room.
  bool TryTake() {
    if (TryTakeOnce()) return true;
    // seq_cst on both sides: either this thread sees the place that a Return() made, or that Return() sees `refused_`.
    refused_.store(true);
    if (!TryTakeOnce()) {
      refusals_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    return true;
  }

  // Takes a place even beyond the limit: for what already waits in the queue of a listener that is being closed.
  void Take() { used_.fetch_add(1); }

  void Return() {
    if (used_.fetch_sub(1) <= limit_.load(std::memory_order_relaxed) && refused_.load() && refused_.exchange(false))
      on_room_();
  }

  // A reload may change it; connections beyond a lower limit stay.
  void SetLimit(int limit) {
    limit_.store(limit, std::memory_order_relaxed);
    if (refused_.exchange(false)) on_room_();
  }

  int used() const { return used_.load(std::memory_order_relaxed); }
  int limit() const { return limit_.load(std::memory_order_relaxed); }
  // How often somebody found no room: one for each pause of a worker, not for each client.
  int64_t refusals() const { return refusals_.load(std::memory_order_relaxed); }

 private:
  bool TryTakeOnce() {
    int used = used_.load();
    while (used < limit_.load(std::memory_order_relaxed)) {
      if (used_.compare_exchange_weak(used, used + 1)) return true;
    }
    return false;
  }

  std::atomic<int> used_{0};
  std::atomic<int> limit_;
  std::atomic<bool> refused_{false};
  std::atomic<int64_t> refusals_{0};
  const std::function<void()> on_room_;
};

// One place in a budget; given back when destroyed. Move-only; may be empty.
class Admission {
 public:
  Admission() = default;
  // Takes over a place already taken.
  explicit Admission(ConnectionBudget* budget) : budget_(budget) {}
  Admission(Admission&& other) noexcept : budget_(std::exchange(other.budget_, nullptr)) {}
  Admission& operator=(Admission&& other) noexcept {
    if (this != &other) {
      Return();
      budget_ = std::exchange(other.budget_, nullptr);
    }
    return *this;
  }
  ~Admission() { Return(); }

  void Return() {
    if (budget_ != nullptr) std::exchange(budget_, nullptr)->Return();
  }

 private:
  ConnectionBudget* budget_ = nullptr;
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_CONNECTION_BUDGET_H_
