#include "protocols/accounting/log_sink.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sys/base/errno_or.h"
#include "sys/base/errno_status.h"

namespace sluice::accounting {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

// After a burst the buffer goes back: it stays with the sink for good.
constexpr size_t kKeptCapacity = 2 * LogSink::kFlushBytes;

}  // namespace

LogSink::LogSink(std::unique_ptr<LogOutput> output, std::string name, int64_t retry_nanos, LogCounters& counters,
                 const std::function<void(absl::string_view)>& complain)
    : output_(std::move(output)),
      name_(std::move(name)),
      retry_nanos_(retry_nanos),
      counters_(counters),
      complain_(complain) {}

void LogSink::Drop(uint64_t records) {
  untold_ += records;
  counters_.dropped.fetch_add(records, kRelaxed);
}

bool LogSink::Flush(sys::MonotonicNanos now, int64_t unix_seconds) {
  if (wait_ == Wait::kPoll || (wait_ == Wait::kTime && now < retry_at_)) return !has_pending();
  wait_ = Wait::kNothing;
  if (failing_ == 0 || Recover(unix_seconds, now)) Write(now, unix_seconds);
  if (!has_pending() && wait_ == Wait::kNothing) Works();
  flush_mark_ = pending_bytes() + kFlushBytes;
  return !has_pending();
}

void LogSink::Write(sys::MonotonicNanos now, int64_t unix_seconds) {
  while (has_pending()) {
    if (!torn_) TurnIfDue(now, unix_seconds);
    const sys::ErrnoOr<size_t> taken = output_->Write(absl::string_view(pending_).substr(sent_));
    if (!taken.ok() && taken.error().code == EAGAIN) {
      wait_ = output_->poll_fd() >= 0 ? Wait::kPoll : Wait::kTime;
      retry_at_ = now + retry_nanos_;
      return;
    }
    if (!taken.ok() || *taken == 0) return Failed(taken.ok() ? EIO : taken.error().code, now);
    Took(*taken);
    Works();
    if (!torn_ && std::exchange(reopen_, false)) Reopen(unix_seconds);
  }
}

void LogSink::Took(size_t bytes) {
  const absl::string_view part = absl::string_view(pending_).substr(sent_, bytes);
  sent_ += part.size();
  torn_ = part.back() != '\n';
  if (!has_pending()) {
    counters_.written.fetch_add(std::exchange(pending_records_, 0), kRelaxed);
    pending_.clear();
    sent_ = 0;
    if (pending_.capacity() > kKeptCapacity) pending_.shrink_to_fit();
    return;
  }
  const uint64_t records = static_cast<uint64_t>(std::count(part.begin(), part.end(), '\n'));
  counters_.written.fetch_add(records, kRelaxed);
  pending_records_ -= std::min(records, pending_records_);
}

void LogSink::Works() {
  if (failing_ == 0) return;
  failing_ = 0;
  if (untold_ == 0) complain_(absl::StrCat("log ", name_, ": takes records again, none was lost"));
}

void LogSink::Failed(int error, sys::MonotonicNanos now) {
  counters_.failed.fetch_add(1, kRelaxed);
  if (failing_ == 0) {
    complain_(
        absl::StrCat("log ", name_, ": cannot be written: ", sys::ErrnoText(error), "; trying again, records wait"));
  }
  failing_ = last_error_ = error;
  wait_ = Wait::kTime;
  retry_at_ = now + retry_nanos_;
}

bool LogSink::Recover(int64_t unix_seconds, sys::MonotonicNanos now) {
  switch (output_->Recover(failing_, unix_seconds)) {
    case LogOutput::Recovery::kSame:
      return true;
    case LogOutput::Recovery::kFailed:
      Failed(failing_, now);
      return false;
    case LogOutput::Recovery::kFresh:
      break;
  }
  if (torn_) {
    const size_t newline = pending_.find('\n', sent_);
    sent_ = newline == std::string::npos ? pending_.size() : newline + 1;
    torn_ = false;
    pending_records_ -= std::min<uint64_t>(1, pending_records_);
    Drop(1);
  }
  reopen_ = false;
  return true;
}

void LogSink::TurnIfDue(sys::MonotonicNanos now, int64_t unix_seconds) {
  if (now < turn_at_) return;
  const int error = output_->Turn(unix_seconds);
  if (error == 0) return;
  turn_at_ = now + retry_nanos_;
  counters_.failed.fetch_add(1, kRelaxed);
  complain_(absl::StrCat("log ", name_, ": the next file cannot be opened: ", sys::ErrnoText(error),
                         "; records go to the old one meanwhile"));
}

bool LogSink::MayTell(sys::MonotonicNanos now) const {
  return untold_ > 0 && failing_ == 0 && wait_ == Wait::kNothing && !has_pending() && now >= tell_at_;
}

void LogSink::Told(sys::MonotonicNanos now) {
  const std::string why = last_error_ == 0 ? "it was too slow" : sys::ErrnoText(last_error_);
  complain_(absl::StrCat("log ", name_, ": dropped ", std::exchange(untold_, 0), " records (", why, ")"));
  last_error_ = 0;
  tell_at_ = now + retry_nanos_;
}

void LogSink::Reopen(int64_t unix_seconds) {
  if (torn_) {
    reopen_ = true;
    return;
  }
  const int error = output_->Reopen(unix_seconds);
  Ready();  // poll watched the old one
  if (error == 0) return;
  counters_.failed.fetch_add(1, kRelaxed);
  complain_(
      absl::StrCat("log ", name_, ": cannot be opened anew: ", sys::ErrnoText(error), "; going on with what is open"));
}

void LogSink::DropPending() {
  if (!has_pending()) return;
  Drop(std::exchange(pending_records_, 0));
  pending_.clear();
  sent_ = 0;
  torn_ = false;
}

}  // namespace sluice::accounting
