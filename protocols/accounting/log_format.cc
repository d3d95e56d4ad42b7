#include "protocols/accounting/log_format.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "protocols/accounting/log_format_writer.h"

namespace sluice::accounting {

// Reads the text after the zone letter, step by step.
class LogFormatCompiler {
 public:
  using Op = LogFormat::Op;

  explicit LogFormatCompiler(absl::string_view text) : text_(text) {}

  absl::StatusOr<std::vector<LogFormat::Step>> Run() {
    while (!text_.empty()) {
      const char c = text_.front();
      text_.remove_prefix(1);
      if (c == '\n' || c == '\r' || c == '\0') {
        return absl::InvalidArgumentError("a line break in the log format: one record is one line; leave it out");
      }
      if (c != '%') {
        literal_ += c;
        continue;
      }
      if (absl::Status status = Letter(); !status.ok()) return status;
    }
    FlushLiteral();
    return std::move(steps_);
  }

 private:
  absl::Status Letter() {
    if (text_.empty()) {
      return absl::InvalidArgumentError("a % without a letter at the end of the log format; write %% for a percent");
    }
    const char c = text_.front();
    if (c == '{') return Name();
    if (absl::ascii_isdigit(static_cast<unsigned char>(c))) return Words();
    text_.remove_prefix(1);
    if (c == '%') {
      literal_ += '%';
      return absl::OkStatus();
    }
    const std::optional<Op> op = OfLetter(c);
    if (!op.has_value()) {
      const std::string shown = absl::ascii_isprint(static_cast<unsigned char>(c))
                                    ? std::string(1, c)
                                    : absl::StrCat("\\x", absl::Hex(c & 0xff));
      return absl::InvalidArgumentError(
          absl::StrCat("unknown letter %", shown, " in the log format; write %% for a percent sign"));
    }
    Add({*op, 0, 0, ""});
    return absl::OkStatus();
  }

  // %a-bT
  absl::Status Words() {
    uint32_t first = 0, last = 0;
    const bool good = Number(first) && Eat('-') && Number(last) && Eat('T');
    if (!good || first < 1 || first > last) {
      return absl::InvalidArgumentError(
          "a word range in the log format is written %a-bT, 1 <= a <= b <= 9999: %2-3T is words 2 and 3 of the text");
    }
    Add({Op::kWords, static_cast<uint16_t>(first), static_cast<uint16_t>(last), ""});
    return absl::OkStatus();
  }

  // %{name}
  absl::Status Name() {
    const size_t end = text_.find('}');
    const absl::string_view name = text_.substr(1, end == absl::string_view::npos ? end : end - 1);
    static constexpr std::pair<const char*, Op> kNames[] = {{"result", Op::kResult},
                                                            {"errno", Op::kErrno},
                                                            {"phase", Op::kPhase},
                                                            {"side", Op::kSide},
                                                            {"path", Op::kPath}};
    for (const auto& [known, op] : kNames) {
      if (end == absl::string_view::npos || name != known) continue;
      text_.remove_prefix(end + 1);
      Add({op, 0, 0, ""});
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "unknown name %{", name.substr(0, 32), "} in the log format; known are result, errno, phase, side and path"));
  }

  static std::optional<Op> OfLetter(char c) {
    static constexpr std::pair<char, Op> kLetters[] = {
        {'y', Op::kYearShort},
        {'Y', Op::kYear},
        {'m', Op::kMonth},
        {'o', Op::kMonthName},
        {'d', Op::kDay},
        {'H', Op::kHour},
        {'M', Op::kMinute},
        {'S', Op::kSecond},
        {'.', Op::kMillis},
        {'t', Op::kUnixTime},
        {'z', Op::kZone},
        {'D', Op::kDuration},
        {'b', Op::kRateFromClient},
        {'B', Op::kRateFromUpstream},
        {'U', Op::kUser},
        {'n', Op::kHost},
        {'T', Op::kText},
        {'N', Op::kService},
        {'p', Op::kServicePort},
        {'E', Op::kCode},
        {'C', Op::kClientIp},
        {'c', Op::kClientPort},
        {'R', Op::kUpstreamIp},
        {'r', Op::kUpstreamPort},
        {'Q', Op::kRequestedIp},
        {'q', Op::kRequestedPort},
        {'i', Op::kInternalIp},
        {'e', Op::kExternalIp},
        {'I', Op::kBytesFromUpstream},
        {'O', Op::kBytesFromClient},
        {'h', Op::kHops},
        {'L', Op::kCycles},
    };
    for (const auto& [letter, op] : kLetters) {
      if (letter == c) return op;
    }
    return std::nullopt;
  }

  bool Number(uint32_t& value) {
    size_t digits = 0;
    while (digits < text_.size() && absl::ascii_isdigit(static_cast<unsigned char>(text_[digits]))) ++digits;
    if (digits == 0 || digits > 4 || !absl::SimpleAtoi(text_.substr(0, digits), &value)) return false;
    text_.remove_prefix(digits);
    return true;
  }

  bool Eat(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  void Add(LogFormat::Step step) {
    FlushLiteral();
    steps_.push_back(std::move(step));
  }

  void FlushLiteral() {
    if (!literal_.empty()) steps_.push_back({Op::kLiteral, 0, 0, std::exchange(literal_, "")});
  }

  absl::string_view text_;
  std::string literal_;
  std::vector<LogFormat::Step> steps_;
};

LogFormat::LogFormat() { *this = *Compile(kDefault); }

absl::StatusOr<LogFormat> LogFormat::Compile(absl::string_view format) {
  LogFormat compiled{Empty()};
  if (format == "json") {
    compiled.json_ = true;
    return compiled;
  }
  if (!format.empty() && format.front() == '-') {
    const size_t plus = format.find('+');
    if (plus == absl::string_view::npos || plus + 1 >= format.size() ||
        !absl::ascii_isprint(static_cast<unsigned char>(format[plus + 1]))) {
      return absl::InvalidArgumentError(
          "a log format that begins with - is written -CHARS+R and then L or G: each of CHARS becomes the printable "
          "character R");
    }
    compiled.replaced_ = std::string(format.substr(1, plus - 1));
    compiled.replacement_ = format[plus + 1];
    format.remove_prefix(plus + 2);
  }
  const char zone = format.empty() ? '\0' : absl::ascii_toupper(static_cast<unsigned char>(format.front()));
  if (zone != 'L' && zone != 'G') {
    return absl::InvalidArgumentError("a log format begins with L (local time) or G (UTC), or is the word json");
  }
  compiled.utc_ = zone == 'G';
  absl::StatusOr<std::vector<Step>> steps = LogFormatCompiler(format.substr(1)).Run();
  if (!steps.ok()) return steps.status();
  compiled.steps_ = *std::move(steps);
  return compiled;
}

void LogFormat::Format(const TrafficRecord& record, TimeCache& cache, std::string& out) const {
  LogFormatWriter writer(*this, record, cache, out);
  if (json_) {
    writer.WriteJson();
  } else {
    for (const Step& step : steps_) writer.Write(step);
  }
  out += '\n';
}

}  // namespace sluice::accounting
