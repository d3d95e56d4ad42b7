#ifndef SLUICE_SYS_PROCESS_THREAD_POOL_H_
#define SLUICE_SYS_PROCESS_THREAD_POOL_H_

#include <pthread.h>

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "sys/thread/clock.h"
#include "sys/thread/mutex.h"

namespace sluice::sys {

// A bounded pool of threads for work that blocks. Threads are made when there is work and none is idle, and end when
// they have been idle for ten seconds; the one that became idle last is woken first, so a pool that is too large
// shrinks.
//
// One more thread, the keeper, makes the others (a worker that submits never pays for clone(2)) and watches deadlines:
// a task that waits in the queue past its deadline is expired even when every thread is stuck. New threads inherit from
// the thread that calls Create(): its CPU mask (call it before pinning anything); signals are blocked.
//
// Thread-safe. Submit() may be called by workers: the mutex is held for a few instructions, or for one pass over the
// queue when deadlines have passed; it never waits for a task.
class ThreadPool {
 public:
  static constexpr MonotonicNanos kNoDeadline = std::numeric_limits<int64_t>::max();

  struct Options {
    std::string name = "pool";  // of the threads, 15 bytes
    int most_threads = 1024;
    int most_queued = 4096;
    // Virtual memory; what counts is what a task touches, and a TLS handshake touches 20-40 KB. 1024 threads with the 8
    // MB default would take 8 GB of address space, which container and cgroup tools show as if it were used.
    int64_t stack_bytes = 256 * 1024;
    int64_t idle_nanos = 10 * kNanosPerSecond;
  };

  struct Task {
    absl::AnyInvocable<void()> run;
    // Called instead of `run` when the task was not begun by `deadline`, or the pool stopped: for the answer that sheds
    // it. It must be brief, since it may run on the keeper. Empty: the task is destroyed.
    absl::AnyInvocable<void()> expired;
    MonotonicNanos deadline = kNoDeadline;  // of Clock::System()
  };

  struct Stats {
    int threads = 0;
    int idle = 0;
    int queued = 0;
    int most_threads_seen = 0;
    int64_t done = 0;
    int64_t expired = 0;
    int64_t refused = 0;        // by a full queue
    int64_t create_failed = 0;  // threads that the system would not give; tried again every 100 ms
  };

  // Errors: the keeper cannot be made (ResourceExhausted).
  static absl::StatusOr<std::unique_ptr<ThreadPool>> Create(Options options);
  // Stop()s.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // False when the queue is full or the pool has stopped: `task` is untouched then, and the caller sheds it.
  [[nodiscard]] bool Submit(Task&& task);
  [[nodiscard]] bool Submit(absl::AnyInvocable<void()> run);

  // Takes no more tasks, expires the queued ones on this thread, and waits for the running ones: end those first by
  // what they wait for. Not from a task.
  void Stop();

  Stats stats() const;

 private:
  // Where an idle thread waits; on its stack.
  struct Seat {
    CondVar wake;
    bool called = false;
  };

  explicit ThreadPool(Options options) : options_(std::move(options)) {}

  static void* KeeperMain(void* self);
  static void* ThreadMain(void* self);
  int StartThread(void* (*main)(void*), pthread_t* thread);
  void Keep();
  bool MakeThreads() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ExpireOverdue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<pthread_t> Work();
  bool WaitForCall() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;
  pthread_t keeper_{};

  mutable Mutex mutex_;
  CondVar keeper_wake_;
  CondVar all_ended_;
  std::deque<Task> queue_ ABSL_GUARDED_BY(mutex_);
  std::vector<Seat*> idle_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool keeper_joined_ ABSL_GUARDED_BY(mutex_) = false;
  int wanted_ ABSL_GUARDED_BY(mutex_) = 0;  // threads that the keeper has still to make
  MonotonicNanos keeper_wakes_at_ ABSL_GUARDED_BY(mutex_) = kNoDeadline;
  std::optional<pthread_t> last_ended_ ABSL_GUARDED_BY(mutex_);  // to be joined by the next one that ends
  Stats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sluice::sys

#endif  // SLUICE_SYS_PROCESS_THREAD_POOL_H_
