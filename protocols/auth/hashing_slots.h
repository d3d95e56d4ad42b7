#ifndef SLUICE_PROTOCOLS_AUTH_HASHING_SLOTS_H_
#define SLUICE_PROTOCOLS_AUTH_HASHING_SLOTS_H_

#include "absl/base/thread_annotations.h"
#include "sys/thread/mutex.h"

namespace sluice::auth {

// How many passwords may be hashed at the same time: one a CPU. A hash is made to cost a CPU its whole time, and a
// crowd of clients with wrong passwords must not have more of the machine than that.
//
// Thread-safe.
class HashingSlots {
 public:
  // REQUIRES: count >= 1.
  explicit HashingSlots(int count) : free_(count) {}

  // Waits for a place and holds it for its life. Handshake thread only (blocks).
  class Hold {
   public:
    explicit Hold(HashingSlots& slots);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    HashingSlots& slots_;
  };

  // Of the process, one for each CPU that it may use.
  static HashingSlots& OfProcess();

  int free() const;

 private:
  mutable sys::Mutex mutex_;
  sys::CondVar freed_;
  int free_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sluice::auth

#endif  // SLUICE_PROTOCOLS_AUTH_HASHING_SLOTS_H_
