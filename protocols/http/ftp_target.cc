#include "protocols/http/ftp_target.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace sluice::http {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool EndsCommand(char c) { return c == '\r' || c == '\n' || c == '\0'; }

// False: not decodable, or not to be sent.
bool Decode(absl::string_view text, std::string& out) {
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return false;
      c = static_cast<char>(high << 4 | low);
      i += 2;
    }
    if (EndsCommand(c)) return false;
    out.push_back(c);
  }
  return true;
}

// "user:password" of the URL, or nothing.
absl::string_view UserInfo(absl::string_view target) {
  absl::string_view rest = target.substr(target.find("://") + 3);
  rest = rest.substr(0, rest.find_first_of("/?#"));
  const size_t at = rest.rfind('@');
  return at == absl::string_view::npos ? absl::string_view() : rest.substr(0, at);
}

bool TakeLoginOfUrl(absl::string_view info, FtpTarget& target) {
  const size_t colon = info.find(':');
  std::string user, password;
  if (!Decode(info.substr(0, colon), user)) return false;
  if (colon != absl::string_view::npos && !Decode(info.substr(colon + 1), password)) return false;
  if (user.empty()) return true;
  target.user = user;
  target.password = password;
  target.anonymous = false;
  return true;
}

bool TakeLoginOfField(absl::string_view value, FtpTarget& target) {
  std::string decoded;
  if (!absl::StartsWithIgnoreCase(value, "basic ")) return true;
  if (!absl::Base64Unescape(absl::StripLeadingAsciiWhitespace(value.substr(6)), &decoded)) return false;
  const size_t colon = decoded.find(':');
  if (colon == std::string::npos || colon == 0) return false;
  for (const char c : decoded) {
    if (EndsCommand(c)) return false;
  }
  target.user = decoded.substr(0, colon);
  target.password = decoded.substr(colon + 1);
  target.anonymous = false;
  return true;
}

}  // namespace

HeadError ParseFtpTarget(const RequestHead& request, FtpTarget& target) {
  const absl::string_view info = UserInfo(request.target);
  if (!info.empty()) {
    if (!TakeLoginOfUrl(info, target)) return {400, "a bad name or password in the URL"};
  } else {
    for (const Field& field : request.fields) {
      if (field.name.size() != 13 || !IsNamed(field, "authorization")) continue;
      if (!TakeLoginOfField(field.value, target)) return {400, "an Authorization field that has no name and password"};
    }
  }
  absl::string_view path = request.path;
  const size_t type = path.rfind(";type=");
  if (type != absl::string_view::npos) {
    const absl::string_view code = path.substr(type + 6);
    if (code.size() != 1) return {400, "a type other than a, i and d in the URL"};
    const char letter = absl::ascii_tolower(static_cast<unsigned char>(code[0]));
    if (letter != 'a' && letter != 'i' && letter != 'd') return {400, "a type other than a, i and d in the URL"};
    target.as_text = letter == 'a';
    target.folder = letter == 'd';
    path = path.substr(0, type);
  }
  if (!path.empty() && path.front() == '/') path.remove_prefix(1);
  if (path.empty() || path.back() == '/') target.folder = true;
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  if (!Decode(path, target.path)) return {400, "a path that no FTP server can be asked for"};
  return {};
}

}  // namespace sluice::http
