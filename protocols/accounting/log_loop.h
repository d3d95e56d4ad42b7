#ifndef SLUICE_PROTOCOLS_ACCOUNTING_LOG_LOOP_H_
#define SLUICE_PROTOCOLS_ACCOUNTING_LOG_LOOP_H_

#include <poll.h>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "protocols/accounting/log_queue.h"
#include "protocols/accounting/log_sink.h"
#include "protocols/accounting/log_target.h"
#include "protocols/accounting/log_thread.h"
#include "sys/base/unique_fd.h"
#include "sys/thread/mutex.h"

namespace sluice::accounting {

// What the log thread runs, and what channels and the thread's handle share; private to log_thread.h.
//
// Each round: take the batch, format it, write to every target that takes something, tell gaps; then wait for a record,
// a target or a time.
class LogLoop {
 public:
  explicit LogLoop(LogThread::Options options);

  // Thread-safe.
  void Submit(LogChannelState* channel, TrafficRecord record);
  void Control(LogItem::Kind kind, std::shared_ptr<LogChannelState> channel);
  LogStats stats() const;
  // Run() writes what it can until then and returns.
  void AskToStop(sys::MonotonicNanos deadline);
  // False when Run() had not returned after `timeout_nanos`.
  bool WaitUntilDone(int64_t timeout_nanos);
  sys::MonotonicNanos Now() const { return options_.clock->Now(); }

  // Main thread.
  absl::StatusOr<std::shared_ptr<LogChannelState>> Open(const LogTarget& target, const LogFormat& format);

  // The log thread.
  void Run();

 private:
  std::unique_ptr<LogOutput> NewOutput(const LogTarget& target) const;
  int64_t UnixSeconds() const { return options_.clock->WallNanos() / sys::kNanosPerSecond; }
  void Wake();

  void Handle(LogItem& item);
  void HandleRecord(const LogItem& item);
  void AddSink(const std::shared_ptr<LogSink>& sink);
  void RemoveIdleSinks();
  void FlushAll();
  void TellGaps(bool at_once);
  void WriteGap(LogSink& sink);
  void Finish();

  void Wait(bool busy);
  int64_t WaitMillis(bool busy) const;
  bool StillDraining() const;

  LogThread::Options options_;
  LogCounters counters_;
  LogQueue queue_;
  sys::UniqueFd wake_;  // eventfd
  std::atomic<bool> stopping_{false};
  std::atomic<sys::MonotonicNanos> deadline_{0};

  sys::Mutex done_mutex_;
  sys::CondVar done_changed_;
  bool done_ ABSL_GUARDED_BY(done_mutex_) = false;

  // Main thread.
  std::vector<std::pair<LogTarget, std::weak_ptr<LogSink>>> opened_;

  // Log thread.
  LogQueue::Batch batch_;
  std::vector<std::shared_ptr<LogChannelState>> channels_;
  std::vector<std::shared_ptr<LogSink>> sinks_;
  std::vector<pollfd> polled_;
  std::vector<LogSink*> polled_sinks_;
};

}  // namespace sluice::accounting

#endif  // SLUICE_PROTOCOLS_ACCOUNTING_LOG_LOOP_H_
