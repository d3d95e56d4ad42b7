#ifndef SLUICE_PROTOCOLS_ACCOUNTING_LOG_FORMAT_H_
#define SLUICE_PROTOCOLS_ACCOUNTING_LOG_FORMAT_H_

#include <time.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protocols/accounting/traffic_record.h"

namespace sluice::accounting {

// The broken-down time of the last record: records come many a second, and localtime_r is dear. One per formatting
// thread and format (the zone is not part of it).
struct TimeCache {
  int64_t second = INT64_MIN;
  tm parts{};
};

// A compiled `logformat`: `[-CHARS+R](L|G)TEXT` with 3proxy's letters after `%`, or `json`.
//
//   L, G            local time, UTC
//   %y %Y %m %o %d %H %M %S %. %t %z   year, month (%o: its name), day, time, milliseconds, unix time, zone: of the end
//   %D              duration in ms               %b %B   bytes per second sent upstream, received from there
//   %U %n %T        user or -, host or [address], text; %2-4T: words 2 to 4 of it
//   %N %p %E        service, its port, result code in five digits
//   %C %c  %R %r  %Q %q   address and port of client, upstream, requested destination
//   %i %e           our own address towards the client, towards the upstream
//   %I %O           bytes from upstream, from client
//   %h %L %%        parents passed; 0 (3proxy's debugging counter; no loop here belongs to one connection); a percent
//   %{result} %{errno} %{phase} %{side} %{path}   what sluice adds: names; "copy", "splice", "both" or "-" for up/down
//
// What came from the network (user, host, text, unix paths) is never written raw. With -CHARS+R each of CHARS and
// everything that does not print becomes R. Without it, bytes that do not print (controls, C1, broken UTF-8,
// direction marks), `"` and `\` become \xHH, and so does a blank in user and host. In json, strings are escaped as JSON
// has it and broken UTF-8 becomes U+FFFD. One record is always one line.
//
// Immutable once compiled. Thread-safe.
class LogFormat {
 public:
  // What 3proxy writes when nothing else is said.
  static constexpr char kDefault[] = "G%y%m%d%H%M%S.%. %p %E %U %C:%c %R:%r %O %I %h %T";
  // The longest line, its newline included: what a pipe takes in one piece (PIPE_BUF). Longer records are cut on a
  // character boundary; a json record stays an object, since its text gives way.
  static constexpr size_t kMaxLineBytes = 4096;

  // InvalidArgument names the letter or the part that is wrong and what to write instead.
  static absl::StatusOr<LogFormat> Compile(absl::string_view format);

  LogFormat();  // kDefault

  // Appends the record and a newline.
  void Format(const TrafficRecord& record, TimeCache& cache, std::string& out) const;

  bool is_json() const { return json_; }

 private:
  friend class LogFormatCompiler;
  friend class LogFormatWriter;

  enum class Op : uint8_t {
    kLiteral,
    kYearShort,
    kYear,
    kMonth,
    kMonthName,
    kDay,
    kHour,
    kMinute,
    kSecond,
    kMillis,
    kUnixTime,
    kZone,
    kDuration,
    kRateFromClient,
    kRateFromUpstream,
    kUser,
    kHost,
    kText,
    kWords,
    kService,
    kServicePort,
    kCode,
    kClientIp,
    kClientPort,
    kUpstreamIp,
    kUpstreamPort,
    kRequestedIp,
    kRequestedPort,
    kInternalIp,
    kExternalIp,
    kBytesFromUpstream,
    kBytesFromClient,
    kHops,
    kCycles,
    kResult,
    kErrno,
    kPhase,
    kSide,
    kPath,
  };
  struct Step {
    Op op = Op::kLiteral;
    uint16_t first_word = 0;  // kWords; counted from 1
    uint16_t last_word = 0;
    std::string literal;
  };

  struct Empty {};
  explicit LogFormat(Empty) {}

  std::vector<Step> steps_;
  std::string replaced_;  // CHARS
  char replacement_ = 0;  // R; 0 = escape
  bool utc_ = true;
  bool json_ = false;
};

}  // namespace sluice::accounting

#endif  // SLUICE_PROTOCOLS_ACCOUNTING_LOG_FORMAT_H_
