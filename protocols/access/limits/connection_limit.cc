#include "protocols/access/limits/connection_limit.h"

#include <algorithm>

namespace sluice::access {

double ConnectionLimit::LevelAt(sys::MonotonicNanos now) const {
  const int64_t passed = std::max<int64_t>(0, now - level_at_);
  if (passed >= period_nanos_) return 0;
  return level_ * (1 - static_cast<double>(passed) / static_cast<double>(period_nanos_));
}

bool ConnectionLimit::Take(sys::MonotonicNanos now) {
  sys::MutexLock lock(mutex_);
  if (period_nanos_ == 0) {
    if (running_ >= most_) return false;
  } else {
    const double level = LevelAt(now) + 1;
    if (level > static_cast<double>(most_)) return false;
    level_ = level;
    level_at_ = now;
  }
  ++running_;
  return true;
}

void ConnectionLimit::Return() {
  sys::MutexLock lock(mutex_);
  --running_;
}

void ConnectionLimit::Undo() {
  sys::MutexLock lock(mutex_);
  --running_;
  level_ = std::max(0.0, level_ - 1);
}

void ConnectionLimit::Set(int64_t most, int64_t period_seconds) {
  sys::MutexLock lock(mutex_);
  most_ = most;
  period_nanos_ = period_seconds * sys::kNanosPerSecond;
}

bool ConnectionLimit::IsUnused(sys::MonotonicNanos now) const {
  sys::MutexLock lock(mutex_);
  return period_nanos_ == 0 ? running_ == 0 : LevelAt(now) < 0.01;
}

}  // namespace sluice::access
