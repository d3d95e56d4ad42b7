#include "sys/process/thread_pool.h"

#include <limits.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "sys/base/errno_status.h"
#include "sys/thread/affinity.h"

namespace sluice::sys {
namespace {

constexpr int64_t kRetryNanos = 100 * kNanosPerMilli;
// Deadlines that lie close together are served by one pass over the queue.
constexpr int64_t kLeastKeeperWaitNanos = kNanosPerMilli;

MonotonicNanos Now() { return Clock::System().Now(); }

}  // namespace

absl::StatusOr<std::unique_ptr<ThreadPool>> ThreadPool::Create(Options options) {
  options.most_threads = std::max(options.most_threads, 1);
  options.stack_bytes = std::max<int64_t>(options.stack_bytes, PTHREAD_STACK_MIN);
  std::unique_ptr<ThreadPool> pool(new ThreadPool(std::move(options)));
  if (const int error = pool->StartThread(&KeeperMain, &pool->keeper_); error != 0) {
    MutexLock lock(pool->mutex_);
    pool->keeper_joined_ = true;  // there is none
    pool->stopping_ = true;
    return ErrnoStatus(error, "start a thread");
  }
  return pool;
}

ThreadPool::~ThreadPool() { Stop(); }

bool ThreadPool::Submit(absl::AnyInvocable<void()> run) {
  Task task;
  task.run = std::move(run);
  return Submit(std::move(task));
}

bool ThreadPool::Submit(Task&& task) {
  MutexLock lock(mutex_);
  if (stopping_ || static_cast<int>(queue_.size()) >= options_.most_queued) {
    ++stats_.refused;
    return false;
  }
  const MonotonicNanos deadline = task.deadline;
  queue_.push_back(std::move(task));
  bool wake_keeper = false;
  if (!idle_.empty()) {
    Seat* seat = idle_.back();
    idle_.pop_back();
    seat->called = true;
    seat->wake.NotifyOne();
  } else if (stats_.threads + wanted_ < options_.most_threads) {
    ++wanted_;
    wake_keeper = true;
  }
  if (deadline < keeper_wakes_at_) {
    keeper_wakes_at_ = deadline;
    wake_keeper = true;
  }
  if (wake_keeper) keeper_wake_.NotifyOne();
  return true;
}

void ThreadPool::Stop() {
  std::deque<Task> left;
  {
    MutexLock lock(mutex_);
    if (keeper_joined_) return;
    keeper_joined_ = true;
    stopping_ = true;
    left.swap(queue_);
    stats_.expired += static_cast<int64_t>(left.size());
    keeper_wake_.NotifyOne();
    for (Seat* seat : idle_) seat->wake.NotifyOne();
  }
  for (Task& task : left) {
    if (task.expired) task.expired();
  }
  left.clear();
  pthread_join(keeper_, nullptr);  // after this no thread is made
  MutexLock lock(mutex_);
  while (stats_.threads > 0) all_ended_.Wait(mutex_);
  if (last_ended_.has_value()) pthread_join(*last_ended_, nullptr);
  last_ended_.reset();
}

ThreadPool::Stats ThreadPool::stats() const {
  MutexLock lock(mutex_);
  Stats stats = stats_;
  stats.idle = static_cast<int>(idle_.size());
  stats.queued = static_cast<int>(queue_.size());
  return stats;
}

int ThreadPool::StartThread(void* (*main)(void*), pthread_t* thread) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, static_cast<size_t>(options_.stack_bytes));
  sigset_t all;
  sigfillset(&all);
  pthread_attr_setsigmask_np(&attributes, &all);
  const int error = pthread_create(thread, &attributes, main, this);
  pthread_attr_destroy(&attributes);
  return error;
}

void* ThreadPool::KeeperMain(void* self) {
  auto* pool = static_cast<ThreadPool*>(self);
  NameThisThread(pool->options_.name + "-keeper");
  pool->Keep();
  return nullptr;
}

void ThreadPool::Keep() {
  MonotonicNanos retry_at = 0;
  MutexLock lock(mutex_);
  while (!stopping_) {
    // What a busy thread took in the meantime needs no new one.
    wanted_ = std::min(wanted_, static_cast<int>(queue_.size()));
    if (wanted_ > 0 && Now() >= retry_at && !MakeThreads()) retry_at = Now() + kRetryNanos;
    ExpireOverdue();
    // Both let go of the mutex, and a notification that came then found nobody waiting.
    const MonotonicNanos now = Now();
    if (stopping_ || (wanted_ > 0 && now >= retry_at)) continue;
    const MonotonicNanos wake_at = wanted_ > 0 ? std::min(keeper_wakes_at_, retry_at) : keeper_wakes_at_;
    if (wake_at == kNoDeadline) {
      keeper_wake_.Wait(mutex_);
    } else {
      keeper_wake_.WaitFor(mutex_, std::chrono::nanoseconds(std::max(wake_at - now, kLeastKeeperWaitNanos)));
    }
  }
}

// False when the system gives no more.
bool ThreadPool::MakeThreads() {
  while (wanted_ > 0 && !stopping_) {
    // Counted as one or the other at any moment, for a Submit() meanwhile adds them up.
    --wanted_;
    ++stats_.threads;
    mutex_.Unlock();
    pthread_t thread;
    const int error = StartThread(&ThreadMain, &thread);
    mutex_.Lock();
    if (error != 0) {
      --stats_.threads;
      ++wanted_;
      ++stats_.create_failed;
      return false;
    }
    stats_.most_threads_seen = std::max(stats_.most_threads_seen, stats_.threads);
  }
  return true;
}

void ThreadPool::ExpireOverdue() {
  const MonotonicNanos now = Now();
  if (keeper_wakes_at_ > now) return;
  const auto overdue =
      std::stable_partition(queue_.begin(), queue_.end(), [now](const Task& task) { return task.deadline > now; });
  std::vector<Task> expired(std::make_move_iterator(overdue), std::make_move_iterator(queue_.end()));
  queue_.erase(overdue, queue_.end());
  keeper_wakes_at_ = kNoDeadline;
  for (const Task& task : queue_) keeper_wakes_at_ = std::min(keeper_wakes_at_, task.deadline);
  stats_.expired += static_cast<int64_t>(expired.size());
  mutex_.Unlock();
  for (Task& task : expired) {
    if (task.expired) task.expired();
  }
  expired.clear();
  mutex_.Lock();
}

void* ThreadPool::ThreadMain(void* self) {
  auto* pool = static_cast<ThreadPool*>(self);
  NameThisThread(pool->options_.name);
  // Each thread that ends joins the one that ended before it, so that nobody else ever waits for one.
  if (const std::optional<pthread_t> previous = pool->Work(); previous.has_value()) pthread_join(*previous, nullptr);
  return nullptr;
}

// Until there is nothing to do. The thread that ended last, for the caller to join.
std::optional<pthread_t> ThreadPool::Work() {
  MutexLock lock(mutex_);
  while (true) {
    while (queue_.empty() && !stopping_ && WaitForCall()) {
    }
    if (queue_.empty()) break;
    Task task = std::move(queue_.front());
    queue_.pop_front();
    mutex_.Unlock();
    const bool in_time = task.deadline == kNoDeadline || Now() < task.deadline;
    if (in_time) {
      task.run();
    } else if (task.expired) {
      task.expired();
    }
    task = Task();  // what it holds is released without the mutex
    mutex_.Lock();
    ++(in_time ? stats_.done : stats_.expired);
  }
  // In the same critical section as the last look at the queue: a Submit() that comes later sees one thread less.
  if (--stats_.threads == 0) all_ended_.NotifyAll();
  return std::exchange(last_ended_, pthread_self());
}

// False when nobody called for too long, or the pool stops.
bool ThreadPool::WaitForCall() {
  Seat seat;
  idle_.push_back(&seat);
  const MonotonicNanos give_up_at = Now() + options_.idle_nanos;
  while (!seat.called && !stopping_) {
    const int64_t left = give_up_at - Now();
    if (left <= 0) break;
    seat.wake.WaitFor(mutex_, std::chrono::nanoseconds(left));
  }
  if (!seat.called) idle_.erase(std::find(idle_.begin(), idle_.end(), &seat));
  return seat.called;
}

}  // namespace sluice::sys
