#ifndef SLUICE_PROTOCOLS_ACCOUNTING_LOG_TARGET_H_
#define SLUICE_PROTOCOLS_ACCOUNTING_LOG_TARGET_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice::accounting {

// How often a log file gets a new name.
enum class Rotation : uint8_t { kNone, kMinute, kHour, kDay, kWeek, kMonth, kYear };

// Where records go: the words of `log`, without anything opened.
//
// Pure; thread-compatible.
struct LogTarget {
  enum class Kind : uint8_t { kStdout, kFile, kSyslog, kDiscard };

  // `name`: "" or "/dev/stdout" = standard output, "@ident" = syslog, "/dev/null", else a file (a FIFO or a device
  // works as well). `rotation`: "" or one of c H D W M Y. `keep`: `rotate N`, 0 = keep every file.
  //
  // InvalidArgument for what the words cannot mean: `&...` and `radius`, an unknown rotation, a bad letter in a name
  // with %.
  static absl::StatusOr<LogTarget> Parse(absl::string_view name, absl::string_view rotation, int keep);

  // What messages call it.
  std::string Describe() const;

  // For files. Without a rotation the name is what was written. With one it gets the date of the period as a suffix, as
  // precise as the period (`log.2024.05.01`, by the hour `log.2024.05.01-13`; a week is named after its Sunday), in
  // local time. A name with % is a template instead (%y %Y %m %o %d %H %M %S %t %%), filled with the present time in
  // local time or, after a leading L or G, in local time or UTC; without a rotation that happens once, at opening.
  //
  // `back` > 0: the name of so many periods before.
  std::string NameAt(int64_t unix_seconds, int back = 0) const;

  // When the name is due to change next; INT64_MAX without a rotation.
  int64_t NextChange(int64_t unix_seconds) const;

  Kind kind = Kind::kStdout;
  std::string name;  // path, template without its L or G, or syslog ident
  Rotation rotation = Rotation::kNone;
  bool utc = false;  // G
  int keep = 0;

  bool is_template() const { return name.find('%') != std::string::npos; }

  friend bool operator==(const LogTarget&, const LogTarget&) = default;
};

}  // namespace sluice::accounting

#endif  // SLUICE_PROTOCOLS_ACCOUNTING_LOG_TARGET_H_
