#include "protocols/accounting/log_target.h"

#include <time.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sluice::accounting {
namespace {

constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr absl::string_view kTemplateLetters = "yYmodHMSt%";

tm BrokenDown(int64_t seconds, bool utc) {
  const time_t when = seconds;
  tm parts{};
  (utc ? gmtime_r : localtime_r)(&when, &parts);
  return parts;
}

int64_t Seconds(tm parts, bool utc) {
  parts.tm_isdst = -1;
  return utc ? timegm(&parts) : mktime(&parts);
}

// The start of the period that `seconds` lies in, moved by `periods` whole ones. Calendar periods are counted by the
// calendar, since a day with a change to summer time has 23 hours.
int64_t PeriodStart(Rotation rotation, int64_t seconds, int periods, bool utc) {
  tm parts = BrokenDown(seconds, utc);
  if (rotation == Rotation::kMinute) return seconds - parts.tm_sec + periods * int64_t{60};
  if (rotation == Rotation::kHour) return seconds - parts.tm_sec - parts.tm_min * 60 + periods * int64_t{3600};
  parts.tm_sec = parts.tm_min = parts.tm_hour = 0;
  switch (rotation) {
    case Rotation::kDay:
      parts.tm_mday += periods;
      break;
    case Rotation::kWeek:
      parts.tm_mday += 7 * periods - parts.tm_wday;
      break;
    case Rotation::kMonth:
      parts.tm_mday = 1;
      parts.tm_mon += periods;
      break;
    case Rotation::kYear:
      parts.tm_mday = 1;
      parts.tm_mon = 0;
      parts.tm_year += periods;
      break;
    default:
      return seconds;
  }
  return Seconds(parts, utc);
}

std::string Suffix(Rotation rotation, const tm& t) {
  const int year = t.tm_year + 1900, month = t.tm_mon + 1;
  switch (rotation) {
    case Rotation::kNone:
      return "";
    case Rotation::kYear:
      return absl::StrFormat(".%04d", year);
    case Rotation::kMonth:
      return absl::StrFormat(".%04d.%02d", year, month);
    case Rotation::kWeek:
    case Rotation::kDay:
      return absl::StrFormat(".%04d.%02d.%02d", year, month, t.tm_mday);
    case Rotation::kHour:
      return absl::StrFormat(".%04d.%02d.%02d-%02d", year, month, t.tm_mday, t.tm_hour);
    case Rotation::kMinute:
      return absl::StrFormat(".%04d.%02d.%02d-%02d.%02d", year, month, t.tm_mday, t.tm_hour, t.tm_min);
  }
  return "";
}

std::string ExpandLetter(char letter, const tm& t, int64_t seconds) {
  switch (letter) {
    case 'y':
      return absl::StrFormat("%02d", t.tm_year % 100);
    case 'Y':
      return absl::StrFormat("%04d", t.tm_year + 1900);
    case 'm':
      return absl::StrFormat("%02d", t.tm_mon + 1);
    case 'o':
      return kMonths[t.tm_mon];
    case 'd':
      return absl::StrFormat("%02d", t.tm_mday);
    case 'H':
      return absl::StrFormat("%02d", t.tm_hour);
    case 'M':
      return absl::StrFormat("%02d", t.tm_min);
    case 'S':
      return absl::StrFormat("%02d", t.tm_sec);
    case 't':
      return absl::StrFormat("%010d", seconds);
    default:
      return "%";
  }
}

absl::Status CheckTemplate(absl::string_view name) {
  for (size_t i = name.find('%'); i != absl::string_view::npos; i = name.find('%', i + 2)) {
    const absl::string_view letter = name.substr(i + 1, 1);
    if (letter.empty() || kTemplateLetters.find(letter) == absl::string_view::npos) {
      return absl::InvalidArgumentError(absl::StrCat(
          "%", letter, " in the log's file name is none of %y %Y %m %o %d %H %M %S %t; write %% for a percent"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Rotation> ParseRotation(absl::string_view word) {
  if (word.empty()) return Rotation::kNone;
  if (word.size() == 1) {
    switch (absl::ascii_toupper(static_cast<unsigned char>(word.front()))) {
      case 'C':
        return Rotation::kMinute;
      case 'H':
        return Rotation::kHour;
      case 'D':
        return Rotation::kDay;
      case 'W':
        return Rotation::kWeek;
      case 'M':
        return Rotation::kMonth;
      case 'Y':
        return Rotation::kYear;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("log rotation ", word, " is none of c (minute), H (hour), D (day), W (week), M (month), Y (year)"));
}

absl::Status CheckIdent(absl::string_view ident) {
  constexpr size_t kMaxBytes = 48;  // RFC 5424 calls it APP-NAME
  bool good = !ident.empty() && ident.size() <= kMaxBytes;
  for (const char c : ident) good = good && absl::ascii_isgraph(static_cast<unsigned char>(c)) && c != ':' && c != '[';
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "a syslog name (log @NAME) is 1 to 48 printable characters without blank, colon and bracket");
}

}  // namespace

absl::StatusOr<LogTarget> LogTarget::Parse(absl::string_view name, absl::string_view rotation, int keep) {
  LogTarget target;
  const absl::StatusOr<Rotation> parsed = ParseRotation(rotation);
  if (!parsed.ok()) return parsed.status();
  target.keep = keep < 0 ? 0 : keep;
  if (name.empty() || name == "/dev/stdout") return target;
  if (name == "/dev/null") {
    target.kind = Kind::kDiscard;
    return target;
  }
  if (name.front() == '&') {
    return absl::InvalidArgumentError(
        "log to a database (&) is not built in; write log without a name and logformat json, and load standard output");
  }
  if (name == "radius") {
    return absl::InvalidArgumentError(
        "log radius (accounting by RADIUS) is not built in; write a file, @syslog, or standard output; for a file "
        "named "
        "radius write ./radius");
  }
  if (name.front() == '@') {
    if (absl::Status status = CheckIdent(name.substr(1)); !status.ok()) return status;
    target.kind = Kind::kSyslog;
    target.name = std::string(name.substr(1));
    return target;
  }
  if (name.find('\0') != absl::string_view::npos || name.size() >= 4096) {
    return absl::InvalidArgumentError("a log's file name has at most 4095 bytes and none of them is NUL");
  }
  target.kind = Kind::kFile;
  target.rotation = *parsed;
  target.name = std::string(name);
  if (target.is_template()) {
    if (absl::Status status = CheckTemplate(name); !status.ok()) return status;
    if (name.front() == 'L' || name.front() == 'G') {
      target.utc = name.front() == 'G';
      target.name.erase(0, 1);
    }
  }
  return target;
}

std::string LogTarget::Describe() const {
  switch (kind) {
    case Kind::kStdout:
      return "standard output";
    case Kind::kSyslog:
      return absl::StrCat("syslog @", name);
    case Kind::kDiscard:
      return "/dev/null";
    case Kind::kFile:
      break;
  }
  return name;
}

std::string LogTarget::NameAt(int64_t unix_seconds, int back) const {
  int64_t seconds = unix_seconds;
  // A template may say more than its period (the second of opening): only other periods are named after their start.
  const bool to_start = back > 0 || rotation == Rotation::kWeek;
  if (to_start) seconds = PeriodStart(rotation, unix_seconds, -back, utc);
  const tm parts = BrokenDown(seconds, utc);
  if (!is_template()) return absl::StrCat(name, Suffix(rotation, parts));
  std::string result;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '%') {
      result += name[i];
    } else if (++i < name.size()) {
      result += ExpandLetter(name[i], parts, seconds);
    }
  }
  return result;
}

int64_t LogTarget::NextChange(int64_t unix_seconds) const {
  if (kind != Kind::kFile || rotation == Rotation::kNone) return INT64_MAX;
  return PeriodStart(rotation, unix_seconds, 1, utc);
}

}  // namespace sluice::accounting
