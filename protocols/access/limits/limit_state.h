#ifndef SLUICE_PROTOCOLS_ACCESS_LIMITS_LIMIT_STATE_H_
#define SLUICE_PROTOCOLS_ACCESS_LIMITS_LIMIT_STATE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "protocols/access/limits/connection_limit.h"
#include "protocols/access/limits/keyed.h"
#include "protocols/access/limits/limit_rule.h"
#include "protocols/access/request_facts.h"
#include "protocols/accounting/counters/counter_store.h"
#include "relay/rate_limiter.h"
#include "sys/thread/clock.h"

namespace sluice::access {

// What one line has counted: one object for all, or one for each user, network or host.
//
// Thread-safe but Follow() and Forget(), which are the main thread's.
class LimitState {
 public:
  // `counters`: for lines that count bytes.
  LimitState(const LimitRule& line, accounting::CounterStore* counters);

  std::shared_ptr<relay::RateLimiter> Rate(const LimitRule& line, const RequestFacts& facts, sys::MonotonicNanos now);
  std::shared_ptr<ConnectionLimit> Places(const LimitRule& line, const RequestFacts& facts, sys::MonotonicNanos now);
  std::shared_ptr<accounting::Counter> Counter(const LimitRule& line, const RequestFacts& facts,
                                               sys::MonotonicNanos now);

  // The line has new numbers.
  void Follow(const LimitRule& line);
  // The line is gone.
  void Forget();

 private:
  accounting::CounterStore* const counters_;
  Keyed<relay::RateLimiter> rates_;
  Keyed<ConnectionLimit> places_;
  Keyed<accounting::Counter> counted_;
};

// Whose a request is, under this line: "" where all share.
std::string KeyOf(const LimitRule& line, const RequestFacts& facts);

}  // namespace sluice::access

#endif  // SLUICE_PROTOCOLS_ACCESS_LIMITS_LIMIT_STATE_H_
