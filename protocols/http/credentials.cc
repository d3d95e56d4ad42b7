#include "protocols/http/credentials.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"

namespace sluice::http {
namespace {

constexpr absl::string_view kFieldName = "proxy-authorization";
constexpr absl::string_view kScheme = "basic";
// A name and a password have 255 bytes each in SOCKS; nobody types more than this.
constexpr size_t kMostEncodedBytes = 8 * 1024;

// Of the standard alphabet, in whole groups of four: the decoder takes more than that.
bool IsBase64(absl::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return false;
  for (int i = 0; i < 2 && absl::EndsWith(text, "="); ++i) text.remove_suffix(1);
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return absl::ascii_isalnum(c) || c == '+' || c == '/'; });
}

}  // namespace

absl::string_view AuthorizationOf(const Fields& fields) {
  absl::string_view value;
  bool found = false;
  for (const Field& field : fields) {
    if (field.name.size() != kFieldName.size() || !IsNamed(field, kFieldName)) continue;
    if (found) return {};
    found = true;
    value = field.value;
  }
  return value;
}

bool ParseBasicCredentials(absl::string_view value, BasicCredentials& result) {
  if (!absl::StartsWithIgnoreCase(value, kScheme)) return false;
  value.remove_prefix(kScheme.size());
  const size_t blanks = std::min(value.find_first_not_of(' '), value.size());
  if (blanks == 0) return false;
  value.remove_prefix(blanks);
  if (value.size() > kMostEncodedBytes || !IsBase64(value)) return false;
  std::string decoded;
  if (!absl::Base64Unescape(value, &decoded)) return false;
  const size_t colon = decoded.find(':');
  if (colon == std::string::npos || colon == 0) return false;
  result.user = decoded.substr(0, colon);
  result.password = decoded.substr(colon + 1);
  return true;
}

}  // namespace sluice::http
