#include "protocols/http/head.h"

#include <array>

#include "absl/strings/match.h"

namespace sluice::http {
namespace {

constexpr std::array<bool, 256> MakeTokenTable() {
  std::array<bool, 256> table{};
  for (int c = '0'; c <= '9'; ++c) table[c] = true;
  for (int c = 'a'; c <= 'z'; ++c) table[c] = true;
  for (int c = 'A'; c <= 'Z'; ++c) table[c] = true;
  for (const char c : {'!', '#', '$', '%', '&', '\'', '*', '+', '-', '.', '^', '_', '`', '|', '~'}) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}
constexpr std::array<bool, 256> kTokenTable = MakeTokenTable();

// Ends a run of ordinary bytes: control bytes but the tab, and DEL.
constexpr std::array<bool, 256> MakeStopTable() {
  std::array<bool, 256> table{};
  for (int c = 0; c < 0x20; ++c) table[c] = c != '\t';
  table[0x7f] = true;
  return table;
}
constexpr std::array<bool, 256> kStopTable = MakeStopTable();

absl::string_view Trim(absl::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

bool IsTokenByte(char c) { return kTokenTable[static_cast<unsigned char>(c)]; }

bool IsToken(absl::string_view text) {
  for (const char c : text) {
    if (!IsTokenByte(c)) return false;
  }
  return !text.empty();
}

bool IsNamed(const Field& field, absl::string_view name) { return absl::EqualsIgnoreCase(field.name, name); }

HeadScanner::State HeadScanner::Fail(int status, const char* what) {
  error_ = {status, what};
  return state_ = State::kBad;
}

HeadScanner::State HeadScanner::Scan(absl::string_view bytes) {
  if (state_ != State::kMore) return state_;
  const size_t most = kMostHeadBytes + leading_;
  const size_t size = bytes.size() < most ? bytes.size() : most;
  for (;;) {
    while (position_ < size && !kStopTable[static_cast<unsigned char>(bytes[position_])]) ++position_;
    if (position_ == size) break;
    if (bytes[position_] != '\r') {
      return Fail(400, bytes[position_] == '\n' ? "a line that ends with LF alone" : "a control byte in the head");
    }
    if (position_ + 1 == size) break;  // its LF is still to come
    if (bytes[position_ + 1] != '\n') return Fail(400, "a CR that does not end a line");
    const bool empty = position_ == line_start_;
    position_ += 2;
    line_start_ = position_;
    if (!empty) {
      first_line_done_ = true;
    } else if (first_line_done_) {
      return state_ = State::kWhole;
    } else {
      leading_ = position_;
      if (leading_ > 2 * kMostEmptyLines) return Fail(400, "empty lines in place of a message");
    }
  }
  if (bytes.size() < most) return State::kMore;
  return first_line_done_ ? Fail(431, "the header fields are longer than 64 KB")
                          : Fail(414, "the request line is longer than 64 KB");
}

absl::string_view SplitStartLine(absl::string_view head, absl::string_view& rest) {
  const size_t end = head.find("\r\n");
  if (end == absl::string_view::npos) {
    rest = absl::string_view();
    return head;
  }
  rest = head.substr(end + 2);
  return head.substr(0, end);
}

HeadError ParseFields(absl::string_view lines, Fields& fields) {
  while (!lines.empty()) {
    const size_t end = lines.find("\r\n");
    if (end == absl::string_view::npos) return {400, "a field without its line end"};
    const absl::string_view line = lines.substr(0, end);
    lines.remove_prefix(end + 2);
    if (line.empty()) break;  // the empty line that ends a head
    if (line.front() == ' ' || line.front() == '\t') return {400, "a folded header field"};
    size_t colon = 0;
    while (colon < line.size() && IsTokenByte(line[colon])) ++colon;
    if (colon == line.size()) return {400, "a header line without a colon"};
    if (line[colon] != ':') {
      const bool blank = line[colon] == ' ' || line[colon] == '\t';
      return {400, blank ? "a blank before the colon of a header field" : "a bad byte in the name of a header field"};
    }
    if (colon == 0) return {400, "a header field without a name"};
    if (fields.size() == kMostFields) return {431, "more than 256 header fields"};
    fields.push_back({line.substr(0, colon), Trim(line.substr(colon + 1))});
  }
  return {};
}

}  // namespace sluice::http
