#ifndef SLUICE_RELAY_SESSION_LIMITS_H_
#define SLUICE_RELAY_SESSION_LIMITS_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "relay/byte_counter.h"
#include "relay/rate_limiter.h"
#include "sys/thread/clock.h"

namespace sluice::relay {

// What one direction may move: the bandwidths that it shares with others, and the counters that it adds to. Asked
// before each read and told after it, whichever path the bytes take.
//
//   const int64_t most = limits.MayTake(now);   // > 0: read at most that much, then Took()
//   if (most == kWait) ...                      // ask again at until()
//   if (most == kSpent) ...                     // a counter has reached its limit: the session ends
//   limits.Pause();                             // whenever reading stops
//
// Worker only, like the session; what it refers to is shared with other workers.
class FlowLimits {
 public:
  static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kWait = 0;
  static constexpr int64_t kSpent = -1;
  // A turn that lies further ahead is looked at this often: a reload may have raised the rate.
  static constexpr int64_t kLookNanos = 500 * sys::kNanosPerMilli;

  FlowLimits() = default;
  FlowLimits(const FlowLimits&) = delete;
  FlowLimits& operator=(const FlowLimits&) = delete;
  ~FlowLimits() { GiveBack(); }

  void Add(std::shared_ptr<RateLimiter> rate) { rates_.push_back({std::move(rate), 0}); }
  void Add(std::shared_ptr<ByteCounter> counter) { counters_.push_back(std::move(counter)); }
  bool empty() const { return rates_.empty() && counters_.empty(); }

  int64_t MayTake(sys::MonotonicNanos now);
  void Took(int64_t bytes);
  // Nothing is read for now: what is left of a turn is for others, unless it is still to come.
  void Pause() {
    if (turn_bytes_ > 0 && !waiting_) GiveBack();
  }
  // When to ask again after kWait.
  sys::MonotonicNanos until(sys::MonotonicNanos now) const;
  // Bytes that were moved without asking (read by a handshake).
  void Charge(int64_t bytes, sys::MonotonicNanos now);
  // The direction waits for its turn, which is not the same as having nothing to say.
  bool waiting() const { return waiting_; }

 private:
  struct Rate {
    std::shared_ptr<RateLimiter> limiter;
    uint32_t epoch;  // under which its turn was taken
  };

  void Reserve(int64_t bytes, sys::MonotonicNanos now);
  bool IsVoid() const;
  void SetWaiting(bool waiting);
  void GiveBack();

  std::vector<Rate> rates_;
  std::vector<std::shared_ptr<ByteCounter>> counters_;
  int64_t turn_bytes_ = 0;  // taken of every rate and not used yet
  sys::MonotonicNanos turn_at_ = 0;
  bool waiting_ = false;
};

// Everything that limits one session; a session without any has none of this.
//
// Made by whoever authorises the client, moved into the Handoff, destroyed with the session.
struct SessionLimits {
  FlowLimits from_client;
  FlowLimits from_upstream;
  // What is to live exactly as long as the session does: its places in limits of connections.
  std::vector<std::shared_ptr<void>> held;
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_SESSION_LIMITS_H_
