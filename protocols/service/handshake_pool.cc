#include "protocols/service/handshake_pool.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace sluice::service {

absl::StatusOr<std::unique_ptr<HandshakePool>> HandshakePool::Create(int most_threads) {
  sys::ThreadPool::Options options;
  options.name = "handshake";
  options.most_threads = most_threads;
  options.most_queued = kMostWaiting;
  absl::StatusOr<std::unique_ptr<sys::ThreadPool>> threads = sys::ThreadPool::Create(options);
  if (!threads.ok()) return threads.status();
  return std::unique_ptr<HandshakePool>(new HandshakePool(*std::move(threads), std::max(1, most_threads / 4)));
}

HandshakePool::~HandshakePool() { Stop(); }

// Takes a place in both groups, or queues the task behind the one that is full.
bool HandshakePool::AdmitOrQueue(const std::shared_ptr<Task>& task) {
  Group* destination = task->destination.empty() ? nullptr : &destinations_[task->destination];
  Group* client = task->client_address.empty() ? nullptr : &clients_[task->client_address];
  Group* full = destination != nullptr && destination->running >= cap_ ? destination
                : client != nullptr && client->running >= cap_         ? client
                                                                       : nullptr;
  if (full != nullptr) {
    full->waiting.push_back(task);
    ++waiting_;
    return false;
  }
  if (destination != nullptr) ++destination->running;
  if (client != nullptr) ++client->running;
  return true;
}

void HandshakePool::Submit(Task task) {
  auto shared = std::make_shared<Task>(std::move(task));
  bool refused = false;
  {
    sys::MutexLock lock(mutex_);
    refused = stopping_ || waiting_ >= kMostWaiting;
    if (!refused && !AdmitOrQueue(shared)) {
      ++capped_;
      return;
    }
  }
  if (refused) return Shed(*shared);
  if (!Give(shared)) Over(shared);
}

// To the threads; the task has its places in the groups. False: there is no room, it was shed and still has them.
bool HandshakePool::Give(const std::shared_ptr<Task>& task) {
  sys::ThreadPool::Task work;
  work.deadline = task->deadline;
  work.run = [this, task] {
    task->run();
    Over(task);
  };
  work.expired = [this, task] {
    Shed(*task);
    Over(task);
  };
  if (threads_->Submit(std::move(work))) return true;
  Shed(*task);
  return false;
}

void HandshakePool::LeaveGroup(Groups& groups, const std::string& key) {
  if (key.empty()) return;
  auto group = groups.find(key);
  if (--group->second.running == 0 && group->second.waiting.empty()) groups.erase(group);
}

std::shared_ptr<HandshakePool::Task> HandshakePool::NextOf(Groups& groups, const std::string& key) {
  if (key.empty()) return nullptr;
  auto group = groups.find(key);
  if (group == groups.end() || group->second.waiting.empty() || group->second.running >= cap_) return nullptr;
  std::shared_ptr<Task> next = std::move(group->second.waiting.front());
  group->second.waiting.pop_front();
  --waiting_;
  return next;
}

// The task gives its places back; whoever waited for them goes on, or is shed when its time has passed.
void HandshakePool::Over(std::shared_ptr<Task> over) {
  std::vector<std::shared_ptr<Task>> all_over = {std::move(over)};
  while (!all_over.empty()) {
    const std::shared_ptr<Task> task = std::move(all_over.back());
    all_over.pop_back();
    std::vector<std::shared_ptr<Task>> admitted;
    std::vector<std::shared_ptr<Task>> late;
    const sys::MonotonicNanos now = sys::Clock::System().Now();
    {
      sys::MutexLock lock(mutex_);
      LeaveGroup(destinations_, task->destination);
      LeaveGroup(clients_, task->client_address);
      AdmitWaiting(destinations_, task->destination, now, admitted, late);
      AdmitWaiting(clients_, task->client_address, now, admitted, late);
    }
    for (const std::shared_ptr<Task>& next : late) Shed(*next);
    for (const std::shared_ptr<Task>& next : admitted) {
      if (!Give(next)) all_over.push_back(next);
    }
  }
}

void HandshakePool::AdmitWaiting(Groups& groups, const std::string& key, sys::MonotonicNanos now,
                                 std::vector<std::shared_ptr<Task>>& admitted,
                                 std::vector<std::shared_ptr<Task>>& late) {
  while (std::shared_ptr<Task> next = NextOf(groups, key)) {
    if (next->deadline <= now) {
      late.push_back(std::move(next));
    } else if (AdmitOrQueue(next)) {  // else its other group is full: it waits there now
      admitted.push_back(std::move(next));
    }
  }
}

void HandshakePool::Shed(Task& task) {
  {
    sys::MutexLock lock(mutex_);
    ++shed_;
  }
  if (task.shed) task.shed();
}

void HandshakePool::Stop() {
  std::vector<std::shared_ptr<Task>> left;
  {
    sys::MutexLock lock(mutex_);
    stopping_ = true;
    for (Groups* groups : {&destinations_, &clients_}) {
      for (auto& [key, group] : *groups) {
        for (std::shared_ptr<Task>& task : group.waiting) left.push_back(std::move(task));
        group.waiting.clear();
      }
    }
    waiting_ = 0;
  }
  for (const std::shared_ptr<Task>& task : left) Shed(*task);
  cancellation_.Cancel();
  threads_->Stop();
}

HandshakePool::Stats HandshakePool::stats() const {
  Stats stats;
  stats.threads = threads_->stats();
  sys::MutexLock lock(mutex_);
  stats.waiting_for_cap = waiting_;
  stats.capped = capped_;
  stats.shed = shed_;
  return stats;
}

}  // namespace sluice::service
