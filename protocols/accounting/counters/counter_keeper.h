#ifndef SLUICE_PROTOCOLS_ACCOUNTING_COUNTERS_COUNTER_KEEPER_H_
#define SLUICE_PROTOCOLS_ACCOUNTING_COUNTERS_COUNTER_KEEPER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "protocols/accounting/counters/counter_store.h"
#include "protocols/accounting/log_target.h"
#include "sys/thread/mutex.h"

namespace sluice::accounting {

// `counter FILE [TYPE REPORT]`. Plain data.
struct CounterFileOptions {
  std::string path;  // empty: counters live as long as the process
  // The report's name, and as its rotation when it is written. Nothing: there are none.
  std::optional<LogTarget> report;

  friend bool operator==(const CounterFileOptions&, const CounterFileOptions&) = default;
};

// Keeps a store's counters by the calendar and on the disk, on a thread of its own: resets those whose period is over,
// writes the report of a period that has ended (before what ends with it is reset), and the file once a minute if
// anything has changed. So a crash loses a minute at most, and nothing waits for a disk.
//
// What fails is said, once a minute at most, and tried again.
//
// Threads: the main thread's, but for the thread of its own.
class CounterKeeper {
 public:
  static constexpr int64_t kSaveSeconds = 60;

  // `store` must outlive this object. `say`: one line for the operator.
  CounterKeeper(CounterStore* store, std::function<void(const std::string&)> say)
      : store_(store), say_(std::move(say)) {}
  // Writes the file for the last time.
  ~CounterKeeper() { Stop(); }

  // Reads the file of `options`: start, or a reload that names another one. An error (it cannot be read, it is broken)
  // leaves everything as it was. A file in 3proxy's form is kept as FILE.3proxy when it is first written over.
  absl::Status Load(const CounterFileOptions& options);

  // Follows `options`, whose file was loaded; starts the thread.
  void Follow(const CounterFileOptions& options, int64_t now_seconds);
  // Ends the thread and writes the file. Nothing happens when there is none.
  void Stop();

  // What the thread does once a second.
  void Tick(int64_t now_seconds);

 private:
  void Run();
  void Save(int64_t now_seconds) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteReport(int64_t now_seconds) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Complain(const std::string& line, int64_t now_seconds) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  CounterStore* const store_;
  const std::function<void(const std::string&)> say_;
  std::thread thread_;

  // Held while files are written: nobody but the main thread at start, reload and shutdown waits for it.
  sys::Mutex mutex_;
  sys::CondVar changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  CounterFileOptions options_ ABSL_GUARDED_BY(mutex_);
  std::string loaded_path_ ABSL_GUARDED_BY(mutex_);
  bool is_foreign_ ABSL_GUARDED_BY(mutex_) = false;  // what was loaded is in 3proxy's form
  std::string saved_ ABSL_GUARDED_BY(mutex_);        // what the file has
  int64_t save_at_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t report_at_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t last_tick_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t complain_at_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice::accounting

#endif  // SLUICE_PROTOCOLS_ACCOUNTING_COUNTERS_COUNTER_KEEPER_H_
