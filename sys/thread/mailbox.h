#ifndef SLUICE_SYS_THREAD_MAILBOX_H_
#define SLUICE_SYS_THREAD_MAILBOX_H_

#include <atomic>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "sys/thread/mutex.h"

namespace sluice::sys {

// Many threads put, one takes everything at once. Put() tells whether the box was empty, which is when the taker must
// be woken: a busy taker costs no wake-up at all.
//
// The mutex is held for a push_back or a swap only, so a worker may take it.
//
// Thread-safe; TakeAll from one thread.
template <typename T>
class Mailbox {
 public:
  // True when the box was empty before: wake the taker.
  [[nodiscard]] bool Put(T item) {
    MutexLock lock(mutex_);
    items_.push_back(std::move(item));
    const bool was_empty = items_.size() == 1;
    has_items_.store(true, std::memory_order_relaxed);
    return was_empty;
  }

  // Swaps the content into `out`, which comes back empty when there is none. An empty box is told without the lock: a
  // Put that is missed here has its wake-up still to come.
  void TakeAll(std::vector<T>& out) {
    out.clear();
    if (!has_items_.load(std::memory_order_relaxed)) return;
    MutexLock lock(mutex_);
    out.swap(items_);
    has_items_.store(false, std::memory_order_relaxed);
  }

 private:
  Mutex mutex_;
  std::vector<T> items_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> has_items_{false};
};

}  // namespace sluice::sys

#endif  // SLUICE_SYS_THREAD_MAILBOX_H_
