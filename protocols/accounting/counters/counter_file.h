#ifndef SLUICE_PROTOCOLS_ACCOUNTING_COUNTERS_COUNTER_FILE_H_
#define SLUICE_PROTOCOLS_ACCOUNTING_COUNTERS_COUNTER_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice::accounting {

// One counter as files have it.
struct CounterRecord {
  int number = 0;   // from 1
  std::string key;  // whose; empty: everybody's
  int64_t bytes = 0;
  int64_t cleared_seconds = 0;  // when it last began at 0 (unix time)
  int64_t updated_seconds = 0;  // when it last grew
  std::string comment;          // of the configuration; not kept in the file

  friend bool operator==(const CounterRecord&, const CounterRecord&) = default;
};

// The text of a counter file:
//
//   sluice counters 1
//   NUMBER BYTES CLEARED UPDATED [KEY]
//   ...
//   end COUNT
//
// The key has backslash escapes (\n, \\, \xHH). The last line tells a file that was cut.
std::string EncodeCounters(const std::vector<CounterRecord>& records);

// Also reads 3proxy's binary form: "3CF" and NUL, the time of the last update (64 bits), then 24 bytes for each counter
// from number 1 on: bytes, cleared, updated (64 bits each, of this machine's byte order).
//
// DataLoss says what is wrong with the contents. Pure; thread-safe, like EncodeCounters.
absl::StatusOr<std::vector<CounterRecord>> DecodeCounters(absl::string_view contents);
// They are in 3proxy's form.
bool IsForeignCounterFile(absl::string_view contents);

// Reads the file at `path`; no such file is no counters. At most 64 MB.
absl::StatusOr<std::string> ReadCounterFile(const std::string& path);
// Replaces it in one step, such that after a crash of the process or the machine there is either the old or the new
// one: a new file beside it, fsync, rename, fsync of the folder. Mode 0600. Both may block.
absl::Status WriteCounterFile(const std::string& path, absl::string_view contents);

// The report of `counter FILE TYPE REPORT`: a line for each counter, number in five digits, bytes in twenty, and its
// comment behind a #.
std::string CounterReport(const std::vector<CounterRecord>& records);

}  // namespace sluice::accounting

#endif  // SLUICE_PROTOCOLS_ACCOUNTING_COUNTERS_COUNTER_FILE_H_
