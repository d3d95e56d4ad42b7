#ifndef SLUICE_PROTOCOLS_HTTP_HEAD_H_
#define SLUICE_PROTOCOLS_HTTP_HEAD_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"

namespace sluice::http {

// What requests and answers have in common on HTTP/1.x: a start line, fields, an empty line (RFC 9112 section 2.1). The
// reading is the strictest one that clients and origins in use keep to, so that whoever reads the bytes after us cannot
// find another message in them: lines end with CRLF and nothing else, no control bytes but a tab in values, no folded
// lines, no blank before the colon, no empty names.
//
// All of this is pure, bounded, and has no state but what is said. Thread-compatible.

// What one head may have. 64 KB is what the largest cookies in use need with room to spare; 256 fields bound the work
// of comparing names.
constexpr size_t kMostHeadBytes = 64 * 1024;
constexpr size_t kMostFields = 256;

// One field; the views lie in the head that it was read from. The value has no blanks around it.
struct Field {
  absl::string_view name;
  absl::string_view value;
};
using Fields = absl::InlinedVector<Field, 24>;

// Why a head is refused. `status` is the one for a request; whatever is wrong with an answer is a 502.
struct HeadError {
  int status = 0;         // 0: nothing is wrong
  const char* what = "";  // a literal, for the client and the log

  bool ok() const { return status == 0; }
};

// Finds where a head ends in bytes that come in pieces. Each byte is looked at once, however many pieces there are.
//
//   HeadScanner scanner;
//   while (scanner.Scan(all_bytes_so_far) == HeadScanner::State::kMore) ... receive more
class HeadScanner {
 public:
  enum class State : uint8_t {
    kMore,  // no end yet, nothing wrong so far
    kWhole,
    kBad,  // error() says why
  };

  // `bytes`: everything since the head's first byte, what was given before included. Once the answer is not kMore it
  // stays what it is.
  State Scan(absl::string_view bytes);
  // Of the empty lines (CRLF) before the start line, which RFC 9112 section 2.2 wants passed over. At most
  // kMostEmptyLines.
  size_t leading_bytes() const { return leading_; }
  // Where the head ends, its empty line included. REQUIRES: kWhole.
  size_t end() const { return position_; }
  const HeadError& error() const { return error_; }

  static constexpr size_t kMostEmptyLines = 4;

 private:
  State Fail(int status, const char* what);

  State state_ = State::kMore;
  size_t position_ = 0;
  size_t line_start_ = 0;
  size_t leading_ = 0;
  bool first_line_done_ = false;
  HeadError error_;
};

// Splits the fields of a head (or of a trailer): every line behind the start line, without the empty line. REQUIRES:
// bytes that HeadScanner found whole.
HeadError ParseFields(absl::string_view lines, Fields& fields);

// The start line of a whole head, without CRLF; `rest` gets the lines of the fields.
absl::string_view SplitStartLine(absl::string_view head, absl::string_view& rest);

// RFC 9110 section 5.6.2.
bool IsTokenByte(char c);
bool IsToken(absl::string_view text);

// Names of fields, methods of comparing them: ASCII, case does not count.
bool IsNamed(const Field& field, absl::string_view name);

// Calls `visit(element)` for each element of a comma-separated list that is not empty, blanks around it taken away.
// Quoted strings are not looked into: for lists of tokens.
template <typename Visit>
void ForEachListElement(absl::string_view list, Visit visit) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    absl::string_view element = list.substr(0, comma);
    list = comma == absl::string_view::npos ? absl::string_view() : list.substr(comma + 1);
    while (!element.empty() && (element.front() == ' ' || element.front() == '\t')) element.remove_prefix(1);
    while (!element.empty() && (element.back() == ' ' || element.back() == '\t')) element.remove_suffix(1);
    if (!element.empty()) visit(element);
  }
}

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_HEAD_H_
