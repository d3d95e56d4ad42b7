#include "protocols/http/response_head.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace sluice::http {
namespace {

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

HeadError ParseStatusLine(absl::string_view line, ResponseHead& response) {
  constexpr size_t kShortest = 12;  // "HTTP/1.1 200"
  if (line.size() < kShortest || !absl::StartsWith(line, "HTTP/1.") || !IsDigit(line[7]) || line[8] != ' ') {
    return {502, "an answer that is not HTTP/1.x"};
  }
  for (const char c : line.substr(9, 3)) {
    if (!IsDigit(c)) return {502, "a status that is not three digits"};
  }
  if (line[9] == '0' || (line.size() > kShortest && line[kShortest] != ' ')) {
    return {502, "a status that is not three digits"};
  }
  response.minor_version = line[7] == '0' ? 0 : 1;
  response.status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
  if (line.size() > kShortest) response.reason = line.substr(kShortest + 1);
  return {};
}

bool IsConnectionAuthentication(absl::string_view value) {
  return absl::StartsWithIgnoreCase(value, "ntlm") || absl::StartsWithIgnoreCase(value, "negotiate");
}

void ReadFields(ResponseHead& response) {
  bool close = false, keep = false;
  for (const Field& field : response.fields) {
    switch (field.name.size()) {
      case 7:
        if (IsNamed(field, "upgrade")) response.upgrade = field.value;
        break;
      case 10:
        if (!IsNamed(field, "connection")) break;
        ForEachListElement(field.value, [&](absl::string_view option) {
          close = close || absl::EqualsIgnoreCase(option, "close");
          keep = keep || absl::EqualsIgnoreCase(option, "keep-alive");
        });
        break;
      case 16:
        if (IsNamed(field, "www-authenticate") && IsConnectionAuthentication(field.value)) response.pins = true;
        break;
      default:
        break;
    }
  }
  response.keep_alive = !close && (response.minor_version == 1 || keep);
}

}  // namespace

HeadError ParseResponseHead(absl::string_view head, Method method, ResponseHead& result) {
  absl::string_view lines;
  const absl::string_view start = SplitStartLine(head, lines);
  if (HeadError error = ParseStatusLine(start, result); !error.ok()) return error;
  if (HeadError error = ParseFields(lines, result.fields); !error.ok()) return {502, error.what};
  if (HeadError error = ReadDeclaredLength(result.fields, result.minor_version, result.declared); !error.ok()) {
    return {502, error.what};
  }
  ReadFields(result);
  const bool without_body =
      method == Method::kHead || result.informational() || result.status == 204 || result.status == 304;
  if (without_body) return {};
  if (result.declared.chunked) {
    result.body = BodyKind::kChunked;
  } else if (result.declared.has_length) {
    result.body = BodyKind::kLength;
    result.body_bytes = result.declared.bytes;
  } else {
    result.body = BodyKind::kUntilClose;
    result.keep_alive = false;
  }
  return {};
}

}  // namespace sluice::http
