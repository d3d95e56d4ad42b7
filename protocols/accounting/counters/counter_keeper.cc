#include "protocols/accounting/counters/counter_keeper.h"

#include <chrono>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "protocols/accounting/counters/counter_file.h"
#include "sys/thread/clock.h"

namespace sluice::accounting {
namespace {

int64_t NowSeconds() { return sys::Clock::System().WallNanos() / sys::kNanosPerSecond; }

}  // namespace

absl::Status CounterKeeper::Load(const CounterFileOptions& options) {
  sys::MutexLock lock(mutex_);
  if (options.path.empty() || options.path == loaded_path_) return absl::OkStatus();
  const auto named = [&](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat("counter file ", options.path, ": ", status.message(),
                                                    absl::IsDataLoss(status) ? ", move it away to begin at 0" : ""));
  };
  absl::StatusOr<std::string> contents = ReadCounterFile(options.path);
  if (!contents.ok()) return named(contents.status());
  absl::StatusOr<std::vector<CounterRecord>> records = DecodeCounters(*contents);
  if (!records.ok()) return named(records.status());
  store_->Load(*std::move(records));
  loaded_path_ = options.path;
  is_foreign_ = IsForeignCounterFile(*contents);
  saved_.clear();
  return absl::OkStatus();
}

void CounterKeeper::Follow(const CounterFileOptions& options, int64_t now_seconds) {
  {
    sys::MutexLock lock(mutex_);
    if (options != options_) {
      options_ = options;
      if (options.path.empty()) loaded_path_.clear();
      report_at_ = options.report.has_value() ? options.report->NextChange(now_seconds) : INT64_MAX;
    }
    if (save_at_ == 0) {
      save_at_ = now_seconds + kSaveSeconds;
      last_tick_ = now_seconds;
      if (!options.report.has_value()) report_at_ = INT64_MAX;
    }
  }
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
}

void CounterKeeper::Stop() {
  if (!thread_.joinable()) return;
  {
    sys::MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
  sys::MutexLock lock(mutex_);
  Save(NowSeconds());
}

void CounterKeeper::Run() {
  for (;;) {
    {
      sys::MutexLock lock(mutex_);
      // A second early or late makes no difference: what is due is told by the clock.
      if (!stopping_) changed_.WaitFor(mutex_, std::chrono::seconds(1));
      if (stopping_) return;
    }
    Tick(NowSeconds());
  }
}

void CounterKeeper::Tick(int64_t now_seconds) {
  sys::MutexLock lock(mutex_);
  if (now_seconds >= report_at_) WriteReport(now_seconds);
  last_tick_ = now_seconds;
  const bool was_reset = store_->ResetDue(now_seconds) > 0;
  if (now_seconds < save_at_ && !was_reset && save_at_ <= now_seconds + kSaveSeconds) return;
  Save(now_seconds);
  save_at_ = now_seconds + kSaveSeconds;
}

void CounterKeeper::Save(int64_t now_seconds) {
  if (options_.path.empty()) return;
  std::string contents = EncodeCounters(store_->Records(now_seconds));
  if (contents == saved_) return;
  absl::Status status;
  if (is_foreign_) {
    const absl::StatusOr<std::string> before = ReadCounterFile(options_.path);
    status = before.ok() ? WriteCounterFile(absl::StrCat(options_.path, ".3proxy"), *before) : before.status();
  }
  if (status.ok()) status = WriteCounterFile(options_.path, contents);
  if (!status.ok()) {
    return Complain(absl::StrCat("counters cannot be written to ", options_.path, ": ", status.message()), now_seconds);
  }
  is_foreign_ = false;
  saved_ = std::move(contents);
}

// Of the period in which the last tick lay.
void CounterKeeper::WriteReport(int64_t now_seconds) {
  const std::string name = options_.report->NameAt(last_tick_);
  report_at_ = options_.report->NextChange(now_seconds);
  const absl::Status status = WriteCounterFile(name, CounterReport(store_->Records(now_seconds)));
  if (!status.ok()) {
    Complain(absl::StrCat("the report of counters cannot be written to ", name, ": ", status.message()), now_seconds);
  }
}

void CounterKeeper::Complain(const std::string& line, int64_t now_seconds) {
  if (now_seconds < complain_at_) return;
  complain_at_ = now_seconds + kSaveSeconds;
  if (say_) say_(line);
}

}  // namespace sluice::accounting
