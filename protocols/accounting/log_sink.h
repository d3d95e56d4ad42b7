#ifndef SLUICE_PROTOCOLS_ACCOUNTING_LOG_SINK_H_
#define SLUICE_PROTOCOLS_ACCOUNTING_LOG_SINK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "protocols/accounting/log_output.h"
#include "sys/thread/clock.h"

namespace sluice::accounting {

// What all sinks of a log thread count together. Written by the log thread (dropped: by anyone), read by anyone.
struct LogCounters {
  std::atomic<uint64_t> written{0};
  std::atomic<uint64_t> dropped{0};
  std::atomic<uint64_t> failed{0};
};

// An output that may be slow, full or gone, made patient: keeps lines that it does not take now, up to kMaxPendingBytes
// (some 8000 records: what a reader that stops for a moment must not lose), tries again when poll says so or
// kRetryNanos after an error, and knows how many records were lost since it last said so.
//
// Lines are never torn: while the rest of one waits, nothing else is written, no file is changed; when the output had
// to be opened anew that rest is dropped, as it would be the beginning of nothing.
//
// Threads: the log thread, but for Open.
class LogSink {
 public:
  static constexpr size_t kMaxPendingBytes = 1 << 20;
  // A batch is given to the output when it has grown to this: the size of a default pipe.
  static constexpr size_t kFlushBytes = 64 << 10;

  // `complain` and `counters` outlive the sink. `name` is for messages.
  LogSink(std::unique_ptr<LogOutput> output, std::string name, int64_t retry_nanos, LogCounters& counters,
          const std::function<void(absl::string_view)>& complain);

  // LogOutput::Open; main thread, before the log thread knows the sink.
  int Open(int64_t unix_seconds) { return output_->Open(unix_seconds); }

  // Where the next line is to be appended (with its newline), then Added(); null when there is no room: Drop it.
  std::string* Buffer() { return pending_bytes() < kMaxPendingBytes ? &pending_ : nullptr; }
  void Added() { ++pending_records_; }
  // Counts records as dropped, to be told.
  void Drop(uint64_t records);
  // To be told only: they were counted where they were lost.
  void Lost(uint64_t records) { untold_ += records; }

  bool has_pending() const { return pending_bytes() > 0; }
  // Another kFlushBytes came together since the last Flush: time for Ready() and one more, in the middle of a batch.
  bool wants_flush() const { return pending_bytes() >= flush_mark_; }

  // Writes what the output takes, unless it must wait (see below). True when nothing is left.
  bool Flush(sys::MonotonicNanos now, int64_t unix_seconds);

  // What has to happen before the next try: nothing, POLLOUT on poll_fd() (tell by Ready()), or the time retry_at().
  enum class Wait : uint8_t { kNothing, kPoll, kTime };
  Wait wait() const { return wait_; }
  int poll_fd() const { return output_->poll_fd(); }
  sys::MonotonicNanos retry_at() const { return retry_at_; }
  // Poll reported, or may have.
  void Ready() {
    if (wait_ == Wait::kPoll) wait_ = Wait::kNothing;
  }
  // The next Flush tries whatever happened (shutdown).
  void Hurry() { wait_ = Wait::kNothing; }

  // Records lost and not yet told, and the time when they may be: the output works, and it is kRetryNanos after the
  // last time. 0 = none.
  uint64_t untold_records() const { return untold_; }
  sys::MonotonicNanos tell_at() const { return tell_at_; }
  bool MayTell(sys::MonotonicNanos now) const;
  // The gap was written into the log; says it to the operator too.
  void Told(sys::MonotonicNanos now);

  // Between lines only; else the name changes or the file is opened anew once the torn line is done.
  void Reopen(int64_t unix_seconds);

  // Gives up on what is pending (shutdown).
  void DropPending();

 private:
  size_t pending_bytes() const { return pending_.size() - sent_; }
  void Write(sys::MonotonicNanos now, int64_t unix_seconds);
  void Failed(int error, sys::MonotonicNanos now);
  bool Recover(int64_t unix_seconds, sys::MonotonicNanos now);
  void Took(size_t bytes);
  void Works();
  void TurnIfDue(sys::MonotonicNanos now, int64_t unix_seconds);

  const std::unique_ptr<LogOutput> output_;
  const std::string name_;
  const int64_t retry_nanos_;
  LogCounters& counters_;
  const std::function<void(absl::string_view)>& complain_;

  std::string pending_;  // whole lines, but that the first may have been written in part up to sent_
  size_t sent_ = 0;
  uint64_t pending_records_ = 0;
  size_t flush_mark_ = kFlushBytes;
  bool torn_ = false;    // sent_ is inside a line
  bool reopen_ = false;  // asked for while torn
  int failing_ = 0;      // errno of the last failure, 0 = works
  Wait wait_ = Wait::kNothing;
  sys::MonotonicNanos retry_at_ = 0;
  sys::MonotonicNanos turn_at_ = 0;
  uint64_t untold_ = 0;
  sys::MonotonicNanos tell_at_ = 0;
  int last_error_ = 0;  // for the message about a gap
};

}  // namespace sluice::accounting

#endif  // SLUICE_PROTOCOLS_ACCOUNTING_LOG_SINK_H_
