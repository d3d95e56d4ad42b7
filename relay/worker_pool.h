#ifndef SLUICE_RELAY_WORKER_POOL_H_
#define SLUICE_RELAY_WORKER_POOL_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "relay/worker.h"
#include "sys/loop/loop_probe.h"
#include "sys/thread/affinity.h"
#include "sys/thread/clock.h"

namespace sluice::relay {

// All workers of the process and their threads.
//
// Start-up and shutdown from the main thread; LessLoaded, NextInTurn and at() are thread-safe.
class WorkerPool {
 public:
  // Makes `count` workers, each with a loop of its own; no thread runs yet. `cpus`: the worker's thread is bound to
  // cpus[i] when there are exactly as many as workers, else to none. `notes` receives a line for each worker that had
  // to take another loop.
  static absl::StatusOr<std::unique_ptr<WorkerPool>> Create(int count, const sys::LoopChoice& choice,
                                                            std::vector<int> cpus, const sys::Clock* clock,
                                                            std::vector<std::string>* notes);
  ~WorkerPool();

  // An error when the system gives no thread; those that were started have ended again.
  absl::Status Start();
  // Ends all threads after their current turn and waits for them. Sessions that still run are destroyed without a word:
  // drain first.
  void Stop();

  int size() const { return static_cast<int>(workers_.size()); }
  Worker& at(int index) { return *workers_[index]; }
  const Worker& at(int index) const { return *workers_[index]; }

  // The worker that should have a new session in place of `here`: the least loaded of the others, when `here` has over
  // a quarter and at least kLeastDifference more sessions. Null: stay. A hand-over costs a wake-up of the other thread,
  // so small differences stay.
  static constexpr int kLeastDifference = 16;
  Worker* LessLoaded(const Worker& here);
  // Round robin.
  Worker& NextInTurn() { return *workers_[turn_.fetch_add(1, std::memory_order_relaxed) % workers_.size()]; }

  // A budget has room: whoever waits for it may accept again.
  void ResumeAccepting();
  int running_sessions() const;

 private:
  WorkerPool() = default;

  void RunWorker(int index);

  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::thread> threads_;
  std::vector<int> cpus_;
  std::atomic<uint32_t> turn_{0};
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_WORKER_POOL_H_
