#include "protocols/http/request_head.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sluice::http {
namespace {

Method MethodOf(absl::string_view text) {
  switch (text.size()) {
    case 3:
      if (text == "GET") return Method::kGet;
      if (text == "PUT") return Method::kPut;
      break;
    case 4:
      if (text == "HEAD") return Method::kHead;
      if (text == "POST") return Method::kPost;
      break;
    case 5:
      if (text == "TRACE") return Method::kTrace;
      if (text == "PATCH") return Method::kPatch;
      break;
    case 6:
      if (text == "DELETE") return Method::kDelete;
      break;
    case 7:
      if (text == "CONNECT") return Method::kConnect;
      if (text == "OPTIONS") return Method::kOptions;
      break;
    default:
      break;
  }
  return Method::kOther;
}

// No blanks (they would move the version), no fragment (RFC 9110 section 7.1: not part of a target). Bytes over 0x7f
// are let pass in paths: no framing hangs on them, and clients send them.
bool IsPath(absl::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '#') return false;
  }
  return true;
}

HeadError ParseAbsolute(RequestHead& request) {
  const size_t colon = request.target.find("://");
  const absl::string_view scheme = request.target.substr(0, colon);
  if (absl::EqualsIgnoreCase(scheme, "http")) {
    request.scheme = Scheme::kHttp;
  } else if (absl::EqualsIgnoreCase(scheme, "ftp")) {
    request.scheme = Scheme::kFtp;
  } else if (absl::EqualsIgnoreCase(scheme, "https")) {
    return {400, "https URLs are asked for with CONNECT"};
  } else {
    return {400, "a URL of a scheme that is not proxied"};
  }
  request.form = TargetForm::kAbsolute;
  absl::string_view rest = request.target.substr(colon + 3);
  const size_t end = rest.find_first_of("/?#");
  absl::string_view authority = rest.substr(0, end);
  request.path = end == absl::string_view::npos ? absl::string_view() : rest.substr(end);
  const size_t at = authority.rfind('@');
  if (at != absl::string_view::npos) authority.remove_prefix(at + 1);
  const uint16_t port = request.scheme == Scheme::kHttp ? 80 : 21;
  if (!ParseAuthority(authority, port, request.authority)) return {400, "a bad host or port in the URL"};
  if (!IsPath(request.path)) return {400, "a bad byte in the URL"};
  return {};
}

HeadError ParseTarget(RequestHead& request) {
  const absl::string_view target = request.target;
  if (request.method == Method::kConnect) {
    request.form = TargetForm::kAuthority;
    if (!ParseAuthority(target, 0, request.authority)) return {400, "CONNECT takes HOST:PORT"};
    return {};
  }
  if (target == "*") {
    if (request.method != Method::kOptions) return {400, "the target * is for OPTIONS"};
    request.form = TargetForm::kAsterisk;
    request.path = target;
    return {};
  }
  if (target.front() == '/') {
    if (!IsPath(target)) return {400, "a bad byte in the target"};
    request.form = TargetForm::kOrigin;
    request.path = target;
    return {};
  }
  if (absl::StrContains(target, "://")) return ParseAbsolute(request);
  return {400, "a target that is neither a URL nor a path"};
}

HeadError ParseRequestLine(absl::string_view line, RequestHead& request) {
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == absl::string_view::npos || first == last) return {400, "a request line of other than three words"};
  request.method_text = line.substr(0, first);
  request.target = line.substr(first + 1, last - first - 1);
  const absl::string_view version = line.substr(last + 1);
  if (!IsToken(request.method_text)) return {400, "a bad byte in the method"};
  if (request.target.empty() || request.target.find_first_of(" \t") != absl::string_view::npos) {
    return {400, "a request line of other than three words"};
  }
  if (version.size() != 8 || !absl::StartsWith(version, "HTTP/1.") ||
      !absl::ascii_isdigit(static_cast<unsigned char>(version[7]))) {
    return {400, "a version other than HTTP/1.0 and HTTP/1.1"};
  }
  request.minor_version = version[7] == '0' ? 0 : 1;
  request.method = MethodOf(request.method_text);
  return ParseTarget(request);
}

HeadError ApplyHost(const Field* host, const Authority* fallback, RequestHead& request) {
  const bool has_target = request.form == TargetForm::kAbsolute || request.form == TargetForm::kAuthority;
  if (host == nullptr) {
    const bool needed = request.minor_version == 1 && request.form != TargetForm::kAuthority;
    if (needed) return {400, "no Host field"};
    if (!has_target && fallback == nullptr) return {400, "neither a URL nor a Host field says where to"};
    if (!has_target) request.authority = *fallback;
    return {};
  }
  Authority authority;
  if (has_target && host->value.empty()) return {};
  if (host->value.empty() && fallback != nullptr) {
    request.authority = *fallback;
    return {};
  }
  if (!ParseAuthority(host->value, 80, authority)) return {400, "a Host field that is no host"};
  if (!has_target) request.authority = authority;
  return {};
}

// The fields that say how this connection goes on.
HeadError ReadFields(const Authority* fallback, RequestHead& request) {
  const Field* host = nullptr;
  bool close = false, keep = false, names_upgrade = false;
  absl::string_view upgrade;
  for (const Field& field : request.fields) {
    switch (field.name.size()) {
      case 4:
        if (!IsNamed(field, "host")) break;
        if (host != nullptr) return {400, "more than one Host field"};
        host = &field;
        break;
      case 6:
        if (!IsNamed(field, "expect")) break;
        if (!absl::EqualsIgnoreCase(field.value, "100-continue"))
          return {417, "an expectation other than 100-continue"};
        request.expects_continue = true;
        break;
      case 7:
        if (!IsNamed(field, "upgrade")) break;
        if (!upgrade.empty()) return {400, "more than one Upgrade field"};
        upgrade = field.value;
        break;
      case 10:
        if (!IsNamed(field, "connection")) break;
        ForEachListElement(field.value, [&](absl::string_view option) {
          close = close || absl::EqualsIgnoreCase(option, "close");
          keep = keep || absl::EqualsIgnoreCase(option, "keep-alive");
          names_upgrade = names_upgrade || absl::EqualsIgnoreCase(option, "upgrade");
        });
        break;
      case 12:
        if (!IsNamed(field, "max-forwards")) break;
        if (request.method != Method::kOptions && request.method != Method::kTrace) break;
        if (request.max_forwards >= 0 || field.value.empty() || field.value.size() > 9 ||
            field.value.find_first_not_of("0123456789") != absl::string_view::npos ||
            !absl::SimpleAtoi(field.value, &request.max_forwards)) {
          return {400, "a Max-Forwards that is no number"};
        }
        break;
      case 16:  // older than the standard, and what HTTP/1.0 clients ask a proxy to stay by
        if (IsNamed(field, "proxy-connection")) keep = keep || absl::EqualsIgnoreCase(field.value, "keep-alive");
        break;
      default:
        break;
    }
  }
  request.keep_alive = !close && (request.minor_version == 1 || keep);
  const bool may_upgrade = names_upgrade && request.body == BodyKind::kNone && request.minor_version == 1 &&
                           !absl::StartsWithIgnoreCase(upgrade, "h2");
  if (may_upgrade) request.upgrade = upgrade;
  return ApplyHost(host, fallback, request);
}

}  // namespace

HeadError ParseRequestHead(absl::string_view head, RequestHead& result, const Authority* fallback) {
  absl::string_view lines;
  const absl::string_view start = SplitStartLine(head, lines);
  if (HeadError error = ParseRequestLine(start, result); !error.ok()) return error;
  if (HeadError error = ParseFields(lines, result.fields); !error.ok()) return error;
  DeclaredLength length;
  if (HeadError error = ReadDeclaredLength(result.fields, result.minor_version, length); !error.ok()) return error;
  if (length.chunked) {
    result.body = BodyKind::kChunked;
  } else if (length.has_length) {
    result.body = BodyKind::kLength;
    result.body_bytes = length.bytes;
  }
  const bool without_body = result.method == Method::kConnect || result.method == Method::kTrace;
  if (without_body && (length.chunked || length.bytes > 0)) return {400, "a method that has no body with a body"};
  return ReadFields(fallback, result);
}

std::string RedactedTarget(const RequestHead& request) {
  const absl::string_view target = request.target;
  if (request.form != TargetForm::kAbsolute) return std::string(target);
  const size_t begin = target.find("://") + 3;
  const size_t end = target.find_first_of("/?#", begin);
  const absl::string_view authority = target.substr(begin, end == absl::string_view::npos ? end : end - begin);
  const size_t at = authority.rfind('@');
  if (at == absl::string_view::npos) return std::string(target);
  return absl::StrCat(target.substr(0, begin), target.substr(begin + at + 1));
}

std::string RedactedLine(absl::string_view bytes) {
  constexpr size_t kMostBytes = 256;
  while (!bytes.empty() && (bytes.front() == '\r' || bytes.front() == '\n')) bytes.remove_prefix(1);
  absl::string_view line = bytes.substr(0, bytes.find_first_of("\r\n"));
  const size_t at = line.rfind('@');
  const size_t slashes = line.find("//");
  if (at == absl::string_view::npos) return std::string(line.substr(0, kMostBytes));
  // It may be what goes before a host, and then what is behind the scheme is nobody's business.
  const size_t kept = slashes < at ? slashes + 2 : 0;
  return absl::StrCat(line.substr(0, kept), line.substr(at + 1)).substr(0, kMostBytes);
}

}  // namespace sluice::http
