#include "protocols/upstream/parent_health.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace sluice::upstream {

sys::MonotonicNanos ParentHealth::PausedUntil(absl::string_view parent, sys::MonotonicNanos now) const {
  sys::MutexLock lock(mutex_);
  const auto found = failing_.find(parent);
  return found == failing_.end() || found->second.paused_until <= now ? 0 : found->second.paused_until;
}

void ParentHealth::Failed(absl::string_view parent, absl::string_view why, sys::MonotonicNanos now) {
  std::string line;
  {
    sys::MutexLock lock(mutex_);
    ++failures_;
    auto found = failing_.find(parent);
    if (found == failing_.end()) {
      if (failing_.size() >= kMostParents) return;
      found = failing_.emplace(std::string(parent), State{}).first;
    }
    State& state = found->second;
    // Connections that were under way when it was given up tell nothing new.
    if (state.paused_until > now) return;
    state.pause_nanos = state.failures == 0 ? kFirstPauseNanos : std::min(state.pause_nanos * 2, kLongestPauseNanos);
    ++state.failures;
    state.paused_until = now + state.pause_nanos;
    line = absl::StrCat("parent ", parent, " fails (", why, "), it is passed over for ",
                        state.pause_nanos / sys::kNanosPerSecond, " s");
  }
  if (say_) say_(line);
}

void ParentHealth::Worked(absl::string_view parent) {
  {
    sys::MutexLock lock(mutex_);
    if (failing_.erase(parent) == 0) return;
  }
  if (say_) say_(absl::StrCat("parent ", parent, " works again"));
}

std::vector<ParentHealth::Report> ParentHealth::failing() const {
  std::vector<Report> reports;
  sys::MutexLock lock(mutex_);
  for (const auto& [parent, state] : failing_) reports.push_back({parent, state.failures, state.pause_nanos});
  std::sort(reports.begin(), reports.end(), [](const Report& a, const Report& b) { return a.parent < b.parent; });
  return reports;
}

int64_t ParentHealth::failures() const {
  sys::MutexLock lock(mutex_);
  return failures_;
}

}  // namespace sluice::upstream
