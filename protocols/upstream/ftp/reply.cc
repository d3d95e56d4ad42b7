#include "protocols/upstream/ftp/reply.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace sluice::upstream {
namespace {

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

// 100 to 599, or 0.
int CodeOf(absl::string_view line) {
  if (line.size() < 3 || line[0] < '1' || line[0] > '5' || !IsDigit(line[1]) || !IsDigit(line[2])) return 0;
  return (line[0] - '0') * 100 + (line[1] - '0') * 10 + (line[2] - '0');
}

void AppendText(absl::string_view text, std::string& out) {
  if (!out.empty() && out.size() < FtpReplyReader::kMostTextBytes) out.push_back('\n');
  for (const char c : text) {
    if (out.size() >= FtpReplyReader::kMostTextBytes) return;
    out.push_back(absl::ascii_iscntrl(static_cast<unsigned char>(c)) ? ' ' : c);
  }
}

// The number that `text` begins with, which is taken from it; -1 where there is none of at most `most_digits`.
int TakeNumber(absl::string_view& text, size_t most_digits) {
  size_t digits = 0;
  while (digits < text.size() && IsDigit(text[digits])) ++digits;
  int value = 0;
  if (digits == 0 || digits > most_digits || !absl::SimpleAtoi(text.substr(0, digits), &value)) return -1;
  text.remove_prefix(digits);
  return value;
}

}  // namespace

size_t FtpReplyReader::Feed(absl::string_view bytes) {
  size_t used = 0;
  while (used < bytes.size() && state_ == State::kMore) {
    const char c = bytes[used++];
    if (c == '\n') {
      OnLine();
      line_.clear();
    } else {
      line_.push_back(c);
    }
    if (state_ == State::kMore && (line_.size() > kMostLineBytes || ++taken_ > kMostReplyBytes)) state_ = State::kBad;
  }
  return used;
}

void FtpReplyReader::OnLine() {
  absl::string_view line = line_;
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const int code = CodeOf(line);
  const char mark = line.size() > 3 ? line[3] : ' ';
  const bool has_code = code != 0 && (mark == ' ' || mark == '-');
  if (reply_.code == 0) {
    if (!has_code) {
      state_ = State::kBad;
      return;
    }
    reply_.code = code;
    multi_line_ = mark == '-';
  } else if (has_code && code == reply_.code && mark == ' ') {
    multi_line_ = false;
  }
  const bool of_reply = has_code && code == reply_.code;
  AppendText(of_reply && line.size() > 4 ? line.substr(4) : of_reply ? absl::string_view() : line, reply_.text);
  if (!multi_line_) state_ = State::kWhole;
}

std::optional<uint16_t> ParseExtendedPassive(absl::string_view text) {
  const size_t open = text.find('(');
  if (open == absl::string_view::npos) return std::nullopt;
  text.remove_prefix(open + 1);
  if (text.size() < 6) return std::nullopt;
  const char mark = text[0];
  if (!absl::ascii_isgraph(static_cast<unsigned char>(mark)) || IsDigit(mark) || text[1] != mark || text[2] != mark) {
    return std::nullopt;
  }
  text.remove_prefix(3);
  const int port = TakeNumber(text, 5);
  if (port <= 0 || port > 65535 || text.size() < 2 || text[0] != mark || text[1] != ')') return std::nullopt;
  return static_cast<uint16_t>(port);
}

std::optional<FtpPassive> ParsePassive(absl::string_view text) {
  // Servers put them into brackets, behind "=", or behind nothing (RFC 1123 section 4.1.2.6).
  while (!text.empty() && !IsDigit(text.front())) text.remove_prefix(1);
  uint32_t numbers[6];
  for (int i = 0; i < 6; ++i) {
    if (i > 0) {
      if (text.empty() || text.front() != ',') return std::nullopt;
      text.remove_prefix(1);
    }
    const int number = TakeNumber(text, 3);
    if (number < 0 || number > 255) return std::nullopt;
    numbers[i] = static_cast<uint32_t>(number);
  }
  FtpPassive passive;
  passive.address = numbers[0] << 24 | numbers[1] << 16 | numbers[2] << 8 | numbers[3];
  passive.port = static_cast<uint16_t>(numbers[4] << 8 | numbers[5]);
  if (passive.port == 0) return std::nullopt;
  return passive;
}

}  // namespace sluice::upstream
