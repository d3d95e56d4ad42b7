#ifndef SLUICE_PROTOCOLS_UPSTREAM_PARENT_HEALTH_H_
#define SLUICE_PROTOCOLS_UPSTREAM_PARENT_HEALTH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "sys/thread/clock.h"
#include "sys/thread/mutex.h"

namespace sluice::upstream {

// What has become of parents lately: nobody is sent to ask, connections tell. A parent that fails is passed over for a
// second, and for twice as long each time that it fails again, up to a minute; then it is tried again, by whoever is
// next. The first success makes it as good as new.
//
// What counts is the parent's own fault: it cannot be connected, does not speak its protocol, refuses our credentials.
// That it cannot reach a destination, or is silent about one, says nothing about it.
//
// One object a process; it outlives reloads. Parents are known by Parent::ToString(). At most kMostParents are kept in
// mind, failing ones only.
//
// Thread-safe; a short mutex. Handshake threads only (workers have no parents to choose).
class ParentHealth {
 public:
  static constexpr int64_t kFirstPauseNanos = sys::kNanosPerSecond;
  static constexpr int64_t kLongestPauseNanos = 60 * sys::kNanosPerSecond;
  static constexpr size_t kMostParents = 4096;

  // `say`: one line for the operator when a parent is given up and when it is back. May be empty.
  explicit ParentHealth(std::function<void(const std::string&)> say) : say_(std::move(say)) {}

  // When it may be tried again: 0 = now.
  sys::MonotonicNanos PausedUntil(absl::string_view parent, sys::MonotonicNanos now) const;
  // `why`: the name of a result code, or alike.
  void Failed(absl::string_view parent, absl::string_view why, sys::MonotonicNanos now);
  void Worked(absl::string_view parent);

  struct Report {
    std::string parent;
    int failures = 0;  // in a row, one for each pause
    int64_t pause_nanos = 0;
  };
  // Those that fail now, for counters and the operator.
  std::vector<Report> failing() const;
  int64_t failures() const;  // ever

 private:
  struct State {
    int failures = 0;
    sys::MonotonicNanos paused_until = 0;
    int64_t pause_nanos = 0;
  };

  const std::function<void(const std::string&)> say_;
  mutable sys::Mutex mutex_;
  absl::flat_hash_map<std::string, State> failing_ ABSL_GUARDED_BY(mutex_);
  int64_t failures_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice::upstream

#endif  // SLUICE_PROTOCOLS_UPSTREAM_PARENT_HEALTH_H_
