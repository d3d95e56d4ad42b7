#ifndef SLUICE_PROTOCOLS_ACCOUNTING_LOG_QUEUE_H_
#define SLUICE_PROTOCOLS_ACCOUNTING_LOG_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "protocols/accounting/log_format.h"
#include "protocols/accounting/log_sink.h"
#include "protocols/accounting/traffic_record.h"
#include "sys/thread/mutex.h"

namespace sluice::accounting {

// What the log thread knows of a channel.
struct LogChannelState {
  LogFormat format;
  bool discard = false;           // /dev/null: records need not be queued
  std::shared_ptr<LogSink> sink;  // log thread only, once it has seen the channel
  TimeCache times;                // log thread only
  uint64_t refused = 0;           // by a full queue, not yet taken; guarded by the queue's mutex
};

struct LogItem {
  enum class Kind : uint8_t { kRecord, kOpen, kClose, kReopen };

  Kind kind = Kind::kRecord;
  LogChannelState* channel = nullptr;      // alive: its kClose comes behind its last record
  std::shared_ptr<LogChannelState> owner;  // kOpen, kClose
  TrafficRecord record;                    // kRecord
};

// The bounded queue between those who submit records and the log thread.
//
// Items are kept in pieces of fixed size, so that a Put never moves what is queued. The mutex is held for a push or a
// swap only: a worker may take it.
//
// Thread-safe; Take, Sleep and Awake from the log thread only.
class LogQueue {
 public:
  static constexpr size_t kMaxRecords = 8192;
  static constexpr size_t kMaxBytes = 4 << 20;
  static constexpr size_t kPieceItems = 64;

  using Pieces = std::vector<std::vector<LogItem>>;

  struct Batch {
    Pieces pieces;
    std::vector<std::pair<LogChannelState*, uint64_t>> refused;  // records that found the queue full, by channel
  };

  enum class PutResult : uint8_t {
    kQueued,
    kWake,  // queued; and the log thread sleeps, or should not sleep on: wake it
    kRefused,
  };

  PutResult Put(LogChannelState* channel, TrafficRecord record);
  // Always taken, however full: a kClose keeps its channel alive for the records before it. True: wake the log thread.
  bool PutControl(LogItem item);

  // Everything queued since the last Take, in order.
  void Take(Batch& batch);

  // Before the log thread waits for a wake-up alone. False: something was queued, do not wait.
  bool Sleep();
  void Awake();

  // From now on records are refused.
  void Close();

 private:
  void Push(LogItem item) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  sys::Mutex mutex_;
  Pieces pieces_ ABSL_GUARDED_BY(mutex_);
  std::vector<LogChannelState*> refusing_ ABSL_GUARDED_BY(mutex_);
  size_t records_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool sleeping_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sluice::accounting

#endif  // SLUICE_PROTOCOLS_ACCOUNTING_LOG_QUEUE_H_
