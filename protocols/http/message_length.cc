#include "protocols/http/message_length.h"

#include <limits>

#include "absl/strings/match.h"

namespace sluice::http {
namespace {

bool ParseLength(absl::string_view text, int64_t& bytes) {
  if (text.empty()) return false;
  int64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    const int digit = c - '0';
    if (value > (std::numeric_limits<int64_t>::max() - digit) / 10) return false;
    value = value * 10 + digit;
  }
  bytes = value;
  return true;
}

}  // namespace

HeadError ReadDeclaredLength(const Fields& fields, int minor_version, DeclaredLength& result) {
  result = {};
  for (const Field& field : fields) {
    // Both names begin with one letter and have a length that few others share.
    if (field.name.size() == 14 && IsNamed(field, "content-length")) {
      if (result.has_length) return {400, "more than one Content-Length"};
      if (!ParseLength(field.value, result.bytes)) return {400, "a Content-Length that is no number"};
      result.has_length = true;
    } else if (field.name.size() == 17 && IsNamed(field, "transfer-encoding")) {
      if (result.chunked) return {400, "more than one Transfer-Encoding"};
      if (!absl::EqualsIgnoreCase(field.value, "chunked")) return {400, "a transfer coding other than chunked"};
      if (minor_version == 0) return {400, "Transfer-Encoding in an HTTP/1.0 message"};
      result.chunked = true;
    }
  }
  if (result.has_length && result.chunked) return {400, "Content-Length together with Transfer-Encoding"};
  return {};
}

}  // namespace sluice::http
