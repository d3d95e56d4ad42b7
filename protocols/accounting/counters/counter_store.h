#ifndef SLUICE_PROTOCOLS_ACCOUNTING_COUNTERS_COUNTER_STORE_H_
#define SLUICE_PROTOCOLS_ACCOUNTING_COUNTERS_COUNTER_STORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "protocols/accounting/counters/counter_file.h"
#include "protocols/accounting/log_target.h"
#include "relay/byte_counter.h"
#include "sys/thread/mutex.h"

namespace sluice::accounting {

// Which counter: the number that the configuration gives it (0: none, it is not kept in the file), and whose, where
// each user, network or host has one of its own.
struct CounterName {
  int number = 0;
  std::string key;
  friend auto operator<=>(const CounterName&, const CounterName&) = default;
};

struct CounterTerms {
  int64_t limit_bytes = 0;
  Rotation reset = Rotation::kNone;
  std::string comment;
};

// One counter of traffic: its bytes, which sessions add to, its limit, and since when it counts.
//
// Thread-safe; bytes() on workers.
class Counter {
 public:
  Counter(CounterName name, const CounterTerms& terms, int64_t now_seconds);

  relay::ByteCounter& bytes() { return bytes_; }
  const relay::ByteCounter& bytes() const { return bytes_; }
  const CounterName& name() const { return name_; }
  std::string comment() const;

  // A reload has changed the terms. The bytes stay, and begin anew when the new period does.
  void Follow(const CounterTerms& terms);
  // Its line is gone: it limits nobody any more.
  void Release();
  // What the file has of it.
  void Restore(const CounterRecord& record);
  CounterRecord Record(int64_t now_seconds);
  // Begins anew if its period is over. A clock that was set back resets nothing.
  bool ResetIfDue(int64_t now_seconds);

 private:
  const CounterName name_;
  relay::ByteCounter bytes_;
  mutable sys::Mutex mutex_;
  Rotation reset_ ABSL_GUARDED_BY(mutex_);
  std::string comment_ ABSL_GUARDED_BY(mutex_);
  int64_t cleared_seconds_ ABSL_GUARDED_BY(mutex_);
  int64_t updated_seconds_ ABSL_GUARDED_BY(mutex_);
  int64_t recorded_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

// All counters of the process, over reloads.
//
// Thread-safe. Find() is called by workers when a client begins: a short mutex, which is never held across a file
// operation.
class CounterStore {
 public:
  // The one of this name, made if need be with what the file said of it. Number 0 is always a new one.
  std::shared_ptr<Counter> Find(const CounterName& name, const CounterTerms& terms);

  // What the file said, for counters that are made later. Replaces what it said before, but for counters that exist.
  void Load(std::vector<CounterRecord> records);
  // Everything that belongs into the file: also what it said of counters that nobody has asked for yet. By number.
  std::vector<CounterRecord> Records(int64_t now_seconds);
  // Begins those anew whose period is over. The number of these.
  int ResetDue(int64_t now_seconds);

 private:
  std::vector<std::shared_ptr<Counter>> All();

  sys::Mutex mutex_;
  std::map<CounterName, std::shared_ptr<Counter>> counters_ ABSL_GUARDED_BY(mutex_);
  std::map<CounterName, CounterRecord> unclaimed_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<Counter>> unnumbered_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sluice::accounting

#endif  // SLUICE_PROTOCOLS_ACCOUNTING_COUNTERS_COUNTER_STORE_H_
