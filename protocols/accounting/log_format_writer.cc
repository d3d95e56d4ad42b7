#include "protocols/accounting/log_format_writer.h"

#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "protocols/accounting/escape.h"
#include "sys/base/errno_status.h"

namespace sluice::accounting {
namespace {

constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// Kept free behind a long text for the letters that follow it.
constexpr size_t kReservedBytes = 96;

// At most `bytes` of `text`, cut before a character that does not fit.
absl::string_view CutAtCharacter(absl::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

}  // namespace

const char* LogFormatWriter::SideName(relay::EndSide side) {
  switch (side) {
    case relay::EndSide::kClient:
      return "client";
    case relay::EndSide::kUpstream:
      return "upstream";
    case relay::EndSide::kUs:
      break;
  }
  return "us";
}

const char* LogFormatWriter::PathName(relay::DataPath path) {
  switch (path) {
    case relay::DataPath::kCopy:
      return "copy";
    case relay::DataPath::kSplice:
      return "splice";
    case relay::DataPath::kBoth:
      return "both";
    case relay::DataPath::kNone:
      break;
  }
  return nullptr;
}

const sys::SocketAddress& LogFormatWriter::NoAddress() {
  static const sys::SocketAddress& none = *new sys::SocketAddress();
  return none;
}

LogFormatWriter::LogFormatWriter(const LogFormat& format, const TrafficRecord& record, TimeCache& cache,
                                 std::string& out)
    : format_(format), record_(record), cache_(cache), out_(out), start_(out.size()) {
  int64_t ended = 0;
  if (__builtin_add_overflow(record.started_wall_nanos, record.duration_nanos, &ended)) {
    ended = std::numeric_limits<int64_t>::max();
  }
  second_ = ended / sys::kNanosPerSecond;
  int64_t rest = ended % sys::kNanosPerSecond;
  if (rest < 0) {
    rest += sys::kNanosPerSecond;
    --second_;
  }
  millis_ = static_cast<int>(rest / sys::kNanosPerMilli);
}

size_t LogFormatWriter::Room() const {
  const size_t used = out_.size() - start_;
  return used < LogFormat::kMaxLineBytes - 1 ? LogFormat::kMaxLineBytes - 1 - used : 0;
}

void LogFormatWriter::Raw(absl::string_view piece) {
  const absl::string_view cut = CutAtCharacter(piece, Room());
  out_.append(cut.data(), cut.size());
}

void LogFormatWriter::Number(int64_t value) { Raw(absl::AlphaNum(value).Piece()); }

void LogFormatWriter::Padded(int64_t value, int digits) {
  const absl::AlphaNum number(value);
  const size_t width = static_cast<size_t>(digits);
  if (value >= 0 && number.size() < width) Raw(absl::string_view("0000000000").substr(0, width - number.size()));
  Raw(number.Piece());
}

bool LogFormatWriter::Untrusted(absl::string_view text, bool escape_blanks) {
  const size_t room = Room();
  const size_t budget = room > kReservedBytes ? room - kReservedBytes : 0;
  if (format_.replacement_ != 0) {
    return AppendReplaced(text, format_.replaced_, format_.replacement_, budget, out_);
  }
  return AppendEscaped(text, escape_blanks, budget, out_);
}

void LogFormatWriter::Ip(const sys::SocketAddress& address) {
  if (!address.is_unix()) return Raw(address.IpText());
  Raw("unix:");
  Untrusted(address.unix_path(), true);
}

void LogFormatWriter::Rate(int64_t bytes) {
  const int64_t millis = DurationMillis();
  Number(millis > 0 && bytes > 0 ? static_cast<int64_t>(static_cast<__int128>(bytes) * 1000 / millis) : 0);
}

// A name (or a numeric address) as the client gave it; what has a colon, or was never a name, in brackets.
void LogFormatWriter::Host() {
  const absl::string_view host = record_.host.view();
  if (!host.empty() && host.find(':') == absl::string_view::npos) {
    Untrusted(host, true);
    return;
  }
  Raw("[");
  Ip(record_.Requested());
  Raw("]");
}

void LogFormatWriter::Words(uint16_t first, uint16_t last) {
  absl::string_view text = record_.text.view();
  for (int word = 1; word <= last; ++word) {
    text = absl::StripLeadingAsciiWhitespace(text);
    if (text.empty()) return;
    size_t end = 0;
    while (end < text.size() && !absl::ascii_isspace(static_cast<unsigned char>(text[end]))) ++end;
    if (word > first && !Untrusted(" ", false)) return;
    if (word >= first && !Untrusted(text.substr(0, end), false)) return;
    text.remove_prefix(end);
  }
}

const tm& LogFormatWriter::Time() {
  if (cache_.second != second_) {
    const time_t when = second_;
    cache_.parts = {};
    (format_.utc_ || format_.json_ ? gmtime_r : localtime_r)(&when, &cache_.parts);
    cache_.second = second_;
  }
  return cache_.parts;
}

void LogFormatWriter::Zone() {
  const long minutes = Time().tm_gmtoff / 60;
  const long size = minutes < 0 ? -minutes : minutes;
  Raw(minutes < 0 ? "-" : "+");
  Padded(size / 60, 2);
  Padded(size % 60, 2);
}

void LogFormatWriter::Paths() {
  const char* up = PathName(record_.path_from_client);
  const char* down = PathName(record_.path_from_upstream);
  Raw(absl::StrCat(up == nullptr ? "-" : up, "/", down == nullptr ? "-" : down));
}

bool LogFormatWriter::WriteTime(Op op) {
  switch (op) {
    case Op::kYearShort:
      return Padded(Time().tm_year % 100, 2), true;
    case Op::kYear:
      return Padded(Time().tm_year + int64_t{1900}, 4), true;
    case Op::kMonth:
      return Padded(Time().tm_mon + 1, 2), true;
    case Op::kMonthName:
      return Raw(kMonths[Time().tm_mon]), true;
    case Op::kDay:
      return Padded(Time().tm_mday, 2), true;
    case Op::kHour:
      return Padded(Time().tm_hour, 2), true;
    case Op::kMinute:
      return Padded(Time().tm_min, 2), true;
    case Op::kSecond:
      return Padded(Time().tm_sec, 2), true;
    case Op::kMillis:
      return Padded(millis_, 3), true;
    case Op::kUnixTime:
      return Padded(second_, 10), true;
    case Op::kZone:
      return Zone(), true;
    case Op::kDuration:
      return Number(DurationMillis()), true;
    default:
      return false;
  }
}

bool LogFormatWriter::WriteAddress(Op op) {
  const RecordAddresses* addresses = record_.addresses.get();
  switch (op) {
    case Op::kClientIp:
      return Ip(record_.client), true;
    case Op::kClientPort:
      return Port(record_.client), true;
    case Op::kUpstreamIp:
      return Ip(record_.upstream), true;
    case Op::kUpstreamPort:
      return Port(record_.upstream), true;
    case Op::kRequestedIp:
      return Ip(record_.Requested()), true;
    case Op::kRequestedPort:
      return Port(record_.Requested()), true;
    case Op::kInternalIp:
      return Ip(addresses == nullptr ? NoAddress() : addresses->internal), true;
    case Op::kExternalIp:
      return Ip(addresses == nullptr ? NoAddress() : addresses->external), true;
    default:
      return false;
  }
}

bool LogFormatWriter::WriteNumber(Op op) {
  switch (op) {
    case Op::kRateFromClient:
      return Rate(record_.bytes_from_client), true;
    case Op::kRateFromUpstream:
      return Rate(record_.bytes_from_upstream), true;
    case Op::kServicePort:
      return Number(record_.service_port), true;
    case Op::kCode:
      return Padded(record_.result.number, 5), true;
    case Op::kBytesFromUpstream:
      return Number(record_.bytes_from_upstream), true;
    case Op::kBytesFromClient:
      return Number(record_.bytes_from_client), true;
    case Op::kHops:
      return Number(record_.hops), true;
    case Op::kCycles:
      return Raw("0"), true;
    default:
      return false;
  }
}

void LogFormatWriter::WriteText(const LogFormat::Step& step) {
  switch (step.op) {
    case Op::kLiteral:
      return Raw(step.literal);
    case Op::kUser:
      return record_.user.empty() ? Raw("-") : (void)Untrusted(record_.user.view(), true);
    case Op::kHost:
      return Host();
    case Op::kText:
      return (void)Untrusted(record_.text.view(), false);
    case Op::kWords:
      return Words(step.first_word, step.last_word);
    case Op::kService:
      return Raw(record_.service);
    case Op::kResult:
      return Raw(record_.result.name);
    case Op::kErrno:
      return Raw(record_.error == 0 ? "-" : sys::ErrnoName(record_.error));
    case Op::kPhase:
      return Raw(PhaseName(record_.phase));
    case Op::kSide:
      return Raw(SideName(record_.side));
    case Op::kPath:
      return Paths();
    default:
      return;
  }
}

void LogFormatWriter::Write(const LogFormat::Step& step) {
  if (!WriteTime(step.op) && !WriteAddress(step.op) && !WriteNumber(step.op)) WriteText(step);
}

}  // namespace sluice::accounting
