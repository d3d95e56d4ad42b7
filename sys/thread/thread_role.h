#ifndef SLUICE_SYS_THREAD_THREAD_ROLE_H_
#define SLUICE_SYS_THREAD_THREAD_ROLE_H_

#include <atomic>
#include <cassert>
#include <thread>

#include "absl/base/thread_annotations.h"

namespace sluice::sys {

// "I am on this worker's thread", as a clang capability: fields are ABSL_GUARDED_BY(role_), methods
// ABSL_EXCLUSIVE_LOCKS_REQUIRED(role_), and each entry point (a callback, the start of a thread) asserts once with
// AssertHeld. Clang then refuses a call from a function that has not asserted; debug builds check the thread as well.
//
// Thread-safe; Adopt() is called once, by the thread that plays the role.
class ABSL_LOCKABLE ThreadRole {
 public:
  void Adopt() { owner_.store(std::this_thread::get_id(), std::memory_order_relaxed); }
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK() {
    assert(owner_.load(std::memory_order_relaxed) == std::thread::id() || IsHeld());
  }
  bool IsHeld() const { return owner_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }

 private:
  std::atomic<std::thread::id> owner_{};
};

}  // namespace sluice::sys

#endif  // SLUICE_SYS_THREAD_THREAD_ROLE_H_
