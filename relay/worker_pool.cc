#include "relay/worker_pool.h"

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sys/base/errno_status.h"

namespace sluice::relay {

absl::StatusOr<std::unique_ptr<WorkerPool>> WorkerPool::Create(int count, const sys::LoopChoice& choice,
                                                               std::vector<int> cpus, const sys::Clock* clock,
                                                               std::vector<std::string>* notes) {
  std::unique_ptr<WorkerPool> pool(new WorkerPool);
  if (static_cast<int>(cpus.size()) == count) pool->cpus_ = std::move(cpus);
  for (int i = 0; i < count; ++i) {
    std::string fell_back;
    absl::StatusOr<std::unique_ptr<sys::Loop>> loop = sys::CreateLoop(choice, sys::kRingEntries, &fell_back);
    if (!loop.ok()) return loop.status();
    if (!fell_back.empty()) notes->push_back(absl::StrCat("worker ", i, ": epoll (", fell_back, ")"));
    pool->workers_.push_back(std::make_unique<Worker>(i, *std::move(loop), clock, pool.get()));
  }
  return pool;
}

WorkerPool::~WorkerPool() { Stop(); }

absl::Status WorkerPool::Start() {
  for (int i = 0; i < size(); ++i) {
    try {
      threads_.emplace_back([this, i] { RunWorker(i); });
    } catch (const std::system_error& error) {  // std::thread has no other way to say it
      Stop();
      return sys::ErrnoStatus(error.code().value(), absl::StrCat("start the thread of worker ", i, " of ", size()));
    }
  }
  return absl::OkStatus();
}

void WorkerPool::RunWorker(int index) {
  sys::NameThisThread(absl::StrCat("worker-", index));
  // A mask that has changed since it was read is no reason not to run.
  if (!cpus_.empty()) sys::PinThisThread(cpus_[index]).IgnoreError();
  workers_[index]->Loop();
}

void WorkerPool::Stop() {
  if (threads_.empty()) return;
  for (auto& worker : workers_) worker->Run([](Worker& w) { w.Stop(); });
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

Worker* WorkerPool::LessLoaded(const Worker& here) {
  const int mine = here.running_sessions();
  Worker* best = nullptr;
  int least = mine;
  for (const auto& worker : workers_) {
    const int sessions = worker->running_sessions();
    if (sessions >= least) continue;
    least = sessions;
    best = worker.get();
  }
  const bool far = best != nullptr && mine - least >= kLeastDifference && mine > least + least / 4;
  return far ? best : nullptr;
}

void WorkerPool::ResumeAccepting() {
  for (const auto& worker : workers_) worker->ResumeAccepting();
}

int WorkerPool::running_sessions() const {
  int sum = 0;
  for (const auto& worker : workers_) sum += worker->running_sessions();
  return sum;
}

}  // namespace sluice::relay
