#include "relay/session_limits.h"

#include <algorithm>

namespace sluice::relay {

int64_t FlowLimits::MayTake(sys::MonotonicNanos now) {
  int64_t left = kNoLimit;
  for (const auto& counter : counters_) left = std::min(left, counter->left());
  if (left <= 0) return kSpent;
  if (rates_.empty()) return left;
  if (turn_bytes_ > 0 && IsVoid()) GiveBack();
  if (turn_bytes_ == 0) {
    int64_t turn = kNoLimit;
    int64_t ready = kNoLimit;
    for (const Rate& rate : rates_) {
      turn = std::min(turn, rate.limiter->TurnBytes());
      ready = std::min(ready, rate.limiter->ReadyBytes(now));
    }
    // Without any rate left there is no turn to wait for.
    if (turn == kNoLimit) return left;
    Reserve(std::min(left, ready > 0 ? std::min(turn, ready) : turn), now);
  }
  SetWaiting(turn_at_ > now);
  return waiting_ ? kWait : std::min(left, turn_bytes_);
}

void FlowLimits::Took(int64_t bytes) {
  if (bytes > 0) {
    for (const auto& counter : counters_) counter->Add(bytes);
  }
  turn_bytes_ = std::max<int64_t>(0, turn_bytes_ - bytes);
}

sys::MonotonicNanos FlowLimits::until(sys::MonotonicNanos now) const { return std::min(turn_at_, now + kLookNanos); }

void FlowLimits::Charge(int64_t bytes, sys::MonotonicNanos now) {
  for (const auto& counter : counters_) counter->Add(bytes);
  for (const Rate& rate : rates_) rate.limiter->Charge(bytes, now);
}

void FlowLimits::Reserve(int64_t bytes, sys::MonotonicNanos now) {
  turn_bytes_ = bytes;
  turn_at_ = now;
  for (Rate& rate : rates_) {
    rate.epoch = rate.limiter->epoch();
    turn_at_ = std::max(turn_at_, rate.limiter->Reserve(bytes, now));
  }
}

bool FlowLimits::IsVoid() const {
  return std::any_of(rates_.begin(), rates_.end(),
                     [](const Rate& rate) { return rate.epoch != rate.limiter->epoch(); });
}

void FlowLimits::SetWaiting(bool waiting) {
  if (waiting == waiting_) return;
  waiting_ = waiting;
  for (const Rate& rate : rates_) {
    if (waiting) {
      rate.limiter->BeginWaiting();
    } else {
      rate.limiter->EndWaiting();
    }
  }
}

void FlowLimits::GiveBack() {
  SetWaiting(false);
  if (turn_bytes_ == 0) return;
  for (const Rate& rate : rates_) {
    if (rate.epoch == rate.limiter->epoch()) rate.limiter->GiveBack(turn_bytes_);
  }
  turn_bytes_ = 0;
}

}  // namespace sluice::relay
