#ifndef SLUICE_PROTOCOLS_SERVICE_HANDSHAKE_POOL_H_
#define SLUICE_PROTOCOLS_SERVICE_HANDSHAKE_POOL_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "sys/blocking/wait.h"
#include "sys/process/thread_pool.h"
#include "sys/thread/clock.h"
#include "sys/thread/mutex.h"

namespace sluice::service {

// The threads on which handshakes wait: for a name server, a parent, a client's next line. Bounded, and fair in one
// respect: no single destination and no single client address may occupy more than a quarter of the threads, so that a
// dead name server or a client that drips its bytes costs itself and not everybody.
//
// What does not get a thread at once waits: in the queue of the pool, or behind the cap of its destination or client.
// What has waited until its deadline, or finds kMostWaiting others waiting, is shed: `shed` is called in place of
// `run`, answers the client in its protocol and records kOverloaded.
//
// Thread-safe; workers call Submit() (short mutex, never held across a blocking call).
class HandshakePool {
 public:
  static constexpr int kMostWaiting = 4096;

  struct Task {
    std::string destination;     // empty: no cap by destination
    std::string client_address;  // empty: no cap by client
    absl::AnyInvocable<void()> run;
    absl::AnyInvocable<void()> shed;  // brief: it may run on the caller's thread, a worker's too
    sys::MonotonicNanos deadline = sys::ThreadPool::kNoDeadline;
  };

  struct Stats {
    sys::ThreadPool::Stats threads;
    int waiting_for_cap = 0;
    int64_t capped = 0;  // had to wait for a cap
    int64_t shed = 0;
  };

  // `most_threads`: at least 1. Errors: no thread can be made at all.
  static absl::StatusOr<std::unique_ptr<HandshakePool>> Create(int most_threads);
  ~HandshakePool();

  // Runs or sheds the task, now or later; exactly one of its two functions is called.
  void Submit(Task task);

  // Sheds what waits, cancels cancellation() and waits for what runs: what else that waits for is to be ended before.
  // Later tasks are shed.
  void Stop();
  // For the blocking calls of tasks (sys/blocking): they end with ECANCELED once the pool stops. Lives as long as this.
  const sys::Cancellation* cancellation() const { return &cancellation_; }

  int cap() const { return cap_; }
  Stats stats() const;

 private:
  struct Group {  // of one destination, or of one client address
    int running = 0;
    std::deque<std::shared_ptr<Task>> waiting;
  };
  using Groups = absl::flat_hash_map<std::string, Group>;

  HandshakePool(std::unique_ptr<sys::ThreadPool> threads, int cap) : threads_(std::move(threads)), cap_(cap) {}

  bool AdmitOrQueue(const std::shared_ptr<Task>& task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<Task> NextOf(Groups& groups, const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LeaveGroup(Groups& groups, const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AdmitWaiting(Groups& groups, const std::string& key, sys::MonotonicNanos now,
                    std::vector<std::shared_ptr<Task>>& admitted, std::vector<std::shared_ptr<Task>>& late)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Give(const std::shared_ptr<Task>& task);
  void Over(std::shared_ptr<Task> over);
  void Shed(Task& task);

  const std::unique_ptr<sys::ThreadPool> threads_;
  const int cap_;
  sys::Cancellation cancellation_;

  mutable sys::Mutex mutex_;
  Groups destinations_ ABSL_GUARDED_BY(mutex_);
  Groups clients_ ABSL_GUARDED_BY(mutex_);
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t capped_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t shed_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice::service

#endif  // SLUICE_PROTOCOLS_SERVICE_HANDSHAKE_POOL_H_
