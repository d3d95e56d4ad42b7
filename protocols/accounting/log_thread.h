#ifndef SLUICE_PROTOCOLS_ACCOUNTING_LOG_THREAD_H_
#define SLUICE_PROTOCOLS_ACCOUNTING_LOG_THREAD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protocols/accounting/log_format.h"
#include "protocols/accounting/log_target.h"
#include "protocols/accounting/traffic_record.h"
#include "sys/thread/clock.h"

namespace sluice::accounting {

struct LogStats {
  uint64_t written = 0;  // records given to a target
  uint64_t dropped = 0;  // records lost: the queue or a target's buffer was full, or the shutdown ran out of time
  uint64_t failed = 0;   // writes and opens that a target refused (EAGAIN is none)
};

class LogLoop;
struct LogChannelState;

// One service's access log: a target and a format. Made by LogThread::Open, owned by the configuration snapshot; two
// channels with the same target share its file. Destroyed after the last Submit (the snapshot outlives its sessions);
// what is still queued is written nevertheless.
class LogChannel {
 public:
  ~LogChannel();
  LogChannel(const LogChannel&) = delete;
  LogChannel& operator=(const LogChannel&) = delete;

  // Queues the record. Never blocks: no formatting, no file; a full queue drops the record and counts it.
  //
  // Thread-safe; a worker may call it.
  void Submit(TrafficRecord record);

 private:
  friend class LogThread;
  LogChannel(std::shared_ptr<LogLoop> loop, std::shared_ptr<LogChannelState> state);

  std::shared_ptr<LogLoop> loop_;
  std::shared_ptr<LogChannelState> state_;
};

// The thread that formats and writes the access log. Workers and handshake threads only queue; a target that is full,
// stopped or gone costs records (counted, and told once it takes some again), never time.
//
// The queue holds LogQueue::kMaxRecords or kMaxBytes. The thread is woken when it sleeps and the queue was empty; under
// load it takes a batch every few milliseconds and gives it to the target in one write.
//
// A target that cannot be written keeps up to LogSink::kMaxPendingBytes of lines and is tried again: when poll says so,
// or Options::retry_nanos after an error. Lines are never torn: the rest of one that was written in part comes first.
// After a gap the target gets a record of its own ("dropped N records" as text, result records_dropped), and so does
// stderr, at most once a second. A file system that hangs (not one that is full) holds up the other targets as well.
class LogThread {
 public:
  // How long Stop() may take to write what is left.
  static constexpr int64_t kFlushNanos = 2 * sys::kNanosPerSecond;

  struct Options {
    const sys::Clock* clock = &sys::Clock::System();  // the names of rotated files, retries
    int stdout_fd = 1;
    std::string syslog_path = "/dev/log";
    int64_t retry_nanos = sys::kNanosPerSecond;
    // One line for the operator, no newline. Called on the log thread only; must not block. Default: stderr, unless
    // that would block.
    std::function<void(absl::string_view)> complain;
  };

  // Starts the thread: after the process has gone into the background, since fork() leaves threads behind.
  explicit LogThread(Options options);
  // Stop().
  ~LogThread();

  // An error when the system gave no thread: nothing will be written.
  absl::Status status() const { return status_; }

  // Opens the target (a file is created) and makes a channel. A file that cannot be opened is an error that names it; a
  // FIFO without a reader or an absent syslog is not, since those may come later.
  //
  // Main thread (start and reload); may block.
  absl::StatusOr<std::unique_ptr<LogChannel>> Open(const LogTarget& target, const LogFormat& format);

  // Opens every file anew after what is queued now is written: for a reload, after someone renamed the files.
  //
  // Thread-safe.
  void Reopen();

  // Writes what is queued, for kFlushNanos at most, and ends the thread. What is left is counted as dropped and told. A
  // thread that hangs in a file system is left behind (the process is about to end). Later Submits are dropped.
  void Stop();

  // Thread-safe.
  LogStats stats() const;

 private:
  std::shared_ptr<LogLoop> loop_;
  std::thread thread_;
  absl::Status status_;
};

}  // namespace sluice::accounting

#endif  // SLUICE_PROTOCOLS_ACCOUNTING_LOG_THREAD_H_
