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
struct LogTarget {
  enum class Kind : uint8_t { kStdout, kFile, kSyslog, kDiscard };

  // `name`: "" = stdout, "@ident" = syslog, "/dev/null", else a file (a FIFO or a device works as well). `rotation`: ""
  // or one of c H D W M Y. `keep`: `rotate N`, 0 = keep every file.
  // InvalidArgument for what the words cannot mean (`&` = ODBC, an unknown letter, a bad letter in a name with %).
  static absl::StatusOr<LogTarget> Parse(absl::string_view name, absl::string_view rotation, int keep);

  Kind kind = Kind::kStdout;
  std::string name;  // path, template or syslog ident
  Rotation rotation = Rotation::kNone;
  int keep = 0;

  friend bool operator==(const LogTarget&, const LogTarget&) = default;
};

}  // namespace sluice::accounting

#endif  // SLUICE_PROTOCOLS_ACCOUNTING_LOG_TARGET_H_
