#ifndef SLUICE_PROTOCOLS_ACCESS_LIMITS_KEYED_H_
#define SLUICE_PROTOCOLS_ACCESS_LIMITS_KEYED_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "sys/thread/clock.h"
#include "sys/thread/mutex.h"

namespace sluice::access {

// One object for each user, client network or destination, made when it is first asked for. At most kMost: then those
// that nobody holds and that would lose nothing make room (looked for once a second at most), and where none does, all
// newcomers share one object: a flood of keys is limited together, and nobody else is.
//
// Thread-safe; a mutex for one look-up, and now and then for a walk of the table (some ms).
template <typename T>
class Keyed {
 public:
  static constexpr size_t kMost = 65536;
  static constexpr int64_t kLookNanos = sys::kNanosPerSecond;
  static constexpr absl::string_view kOthers = "(others)";

  explicit Keyed(size_t most = kMost) : most_(most) {}

  // make(key) gives a shared_ptr<T>; is_unused(const std::shared_ptr<T>&) says whether it may go. Both are called under
  // the mutex.
  template <typename Make, typename IsUnused>
  std::shared_ptr<T> Get(absl::string_view key, sys::MonotonicNanos now, Make make, IsUnused is_unused) {
    sys::MutexLock lock(mutex_);
    const auto found = objects_.find(key);
    if (found != objects_.end()) return found->second;
    if (objects_.size() >= most_ && now >= look_at_) {
      look_at_ = now + kLookNanos;
      for (auto it = objects_.begin(); it != objects_.end();) {
        if (is_unused(it->second)) {
          objects_.erase(it++);
        } else {
          ++it;
        }
      }
    }
    if (objects_.size() >= most_) {
      if (others_ == nullptr) others_ = make(kOthers);
      return others_;
    }
    return objects_.emplace(std::string(key), make(key)).first->second;
  }

  // visit(T&) for each.
  template <typename Visit>
  void ForEach(Visit visit) {
    sys::MutexLock lock(mutex_);
    for (auto& [key, object] : objects_) visit(*object);
    if (others_ != nullptr) visit(*others_);
  }

  size_t size() const {
    sys::MutexLock lock(mutex_);
    return objects_.size();
  }

 private:
  const size_t most_;
  mutable sys::Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<T>> objects_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<T> others_ ABSL_GUARDED_BY(mutex_);
  sys::MonotonicNanos look_at_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice::access

#endif  // SLUICE_PROTOCOLS_ACCESS_LIMITS_KEYED_H_
