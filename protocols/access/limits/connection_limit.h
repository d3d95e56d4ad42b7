#ifndef SLUICE_PROTOCOLS_ACCESS_LIMITS_CONNECTION_LIMIT_H_
#define SLUICE_PROTOCOLS_ACCESS_LIMITS_CONNECTION_LIMIT_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "sys/thread/clock.h"
#include "sys/thread/mutex.h"

namespace sluice::access {

// `connlim RATE PERIOD`. Without a period, RATE connections at once. With one, RATE connections in PERIOD seconds on
// average: each adds one to a level that shrinks in proportion to the time that passes, all of it in PERIOD, and may
// not rise above RATE; so RATE may come at once after a pause, and whoever is refused does not make it longer.
//
// Thread-safe; a mutex for a few instructions, also on workers.
class ConnectionLimit {
 public:
  ConnectionLimit(int64_t most, int64_t period_seconds)
      : most_(most), period_nanos_(period_seconds * sys::kNanosPerSecond) {}
  ConnectionLimit(const ConnectionLimit&) = delete;
  ConnectionLimit& operator=(const ConnectionLimit&) = delete;

  // A place: held as long as the connection where it counts connections at once, else spent by being taken. False:
  // there is none.
  bool Take(sys::MonotonicNanos now);
  // Of a place that was taken: the connection has ended.
  void Return();
  // As if it had not been taken: another limit refused the connection.
  void Undo();

  // A reload may change it.
  void Set(int64_t most, int64_t period_seconds);
  // Nothing would be lost with it.
  bool IsUnused(sys::MonotonicNanos now) const;

 private:
  double LevelAt(sys::MonotonicNanos now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable sys::Mutex mutex_;
  int64_t most_ ABSL_GUARDED_BY(mutex_);
  int64_t period_nanos_ ABSL_GUARDED_BY(mutex_);
  int64_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  double level_ ABSL_GUARDED_BY(mutex_) = 0;
  sys::MonotonicNanos level_at_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice::access

#endif  // SLUICE_PROTOCOLS_ACCESS_LIMITS_CONNECTION_LIMIT_H_
