#include "bench/mix/wire.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace sluice::bench::mix {
namespace {

constexpr absl::string_view kBrowserFields =
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) mix/1.0\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8\r\n"
    "Accept-Language: en-US,en;q=0.5\r\n"
    "Accept-Encoding: identity\r\n"
    "Referer: http://www.example.org/a/page/among/many.html\r\n"
    "Cookie: session=0123456789abcdef0123456789abcdef; theme=light; seen=1\r\n";

// The head's length with its empty line; 0 when that has not come.
size_t HeadBytes(absl::string_view bytes) {
  const size_t end = bytes.substr(0, kMostHeadBytes).find("\r\n\r\n");
  return end == absl::string_view::npos ? 0 : end + 4;
}

Parsed Unended(absl::string_view bytes) { return bytes.size() < kMostHeadBytes ? Parsed::kMore : Parsed::kBad; }

// "/BYTES/ID" or "/BYTES/ID/last", also in absolute form: some proxies hand that on (RFC 9112 section 3.2.2).
bool ParseTarget(absl::string_view target, Request* request) {
  if (absl::ConsumePrefix(&target, "http://")) target.remove_prefix(std::min(target.find('/'), target.size()));
  const std::vector<absl::string_view> parts = absl::StrSplit(target, '/');
  if (parts.size() < 3 || parts.size() > 4 || !parts[0].empty()) return false;
  request->last = parts.size() == 4;
  return absl::SimpleAtoi(parts[1], &request->bytes) && request->bytes >= 0 &&
         absl::SimpleAtoi(parts[2], &request->id) && (!request->last || parts[3] == "last");
}

TunnelStep ConnectStep(absl::string_view received) {
  AnswerHead answer;
  size_t head_bytes = 0;
  switch (ParseAnswer(received, &head_bytes, &answer)) {
    case Parsed::kMore:
      return {TunnelStep::kMore, 0, ""};
    case Parsed::kBad:
      return {TunnelStep::kRefused, 0, "what answers CONNECT is not HTTP"};
    case Parsed::kDone:
      break;
  }
  if (answer.status / 100 == 2) return {TunnelStep::kOpen, head_bytes, ""};
  return {TunnelStep::kRefused, head_bytes, absl::StrCat("CONNECT was answered with ", answer.status)};
}

// RFC 1928, section 4: version 5, CONNECT, address type 1 (IPv4) or 4 (IPv6).
std::string SocksRequest(const sys::SocketAddress& origin) {
  sockaddr_storage storage;
  origin.ToSockaddr(storage);
  std::string text("\5\1\0", 3);
  if (origin.family() == sys::AddressFamily::kIpv6) {
    text += '\4';
    text.append(reinterpret_cast<const char*>(origin.ipv6().data()), 16);
  } else {
    text += '\1';
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(origin.ipv4() >> shift);
  }
  text += static_cast<char>(origin.port() >> 8);
  text += static_cast<char>(origin.port());
  return text;
}

TunnelStep SocksStep(int stage, const sys::SocketAddress& origin, absl::string_view received) {
  if (stage == 0) {
    if (received.size() < 2) return {TunnelStep::kMore, 0, ""};
    if (received.substr(0, 2) != absl::string_view("\5\0", 2)) {
      return {TunnelStep::kRefused, 2, "SOCKS: the proxy wants a password, or does not speak version 5"};
    }
    return {TunnelStep::kSend, 2, SocksRequest(origin)};
  }
  if (received.size() < 5) return {TunnelStep::kMore, 0, ""};
  if (received[0] != 5 || received[1] != 0) {
    return {TunnelStep::kRefused, 5, absl::StrCat("SOCKS: refused with reply ", received[1] & 0xff)};
  }
  // Address and port follow a head of 4 bytes; a name has its length before it.
  const size_t address = received[3] == 4 ? 16 : received[3] == 3 ? 1 + (received[4] & 0xff) : 4;
  if (received.size() < 4 + address + 2) return {TunnelStep::kMore, 0, ""};
  return {TunnelStep::kOpen, 4 + address + 2, ""};
}

}  // namespace

const char* ViaName(Via via) {
  switch (via) {
    case Via::kNone:
      return "none";
    case Via::kHttp:
      return "http";
    case Via::kConnect:
      return "connect";
    case Via::kSocks:
      return "socks";
    case Via::kRelay:
      return "relay";
  }
  return "?";
}

std::string RequestText(const Request& request, Via via, const sys::SocketAddress& origin) {
  const std::string host = origin.ToString();
  return absl::StrCat("GET ", via == Via::kHttp ? absl::StrCat("http://", host) : "", "/", request.bytes, "/",
                      request.id, request.last ? "/last" : "", " HTTP/1.1\r\nHost: ", host, "\r\n", kBrowserFields,
                      via == Via::kHttp && request.last ? "Connection: close\r\n\r\n" : "\r\n");
}

Parsed ParseRequest(absl::string_view bytes, size_t* head_bytes, Request* request) {
  *head_bytes = HeadBytes(bytes);
  if (*head_bytes == 0) return Unended(bytes);
  const absl::string_view line = bytes.substr(0, bytes.find("\r\n"));
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  if (words.size() != 3 || words[0] != "GET" || !absl::StartsWith(words[2], "HTTP/1.")) return Parsed::kBad;
  return ParseTarget(words[1], request) ? Parsed::kDone : Parsed::kBad;
}

std::string AnswerText(const Request& request) {
  return absl::StrCat("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: ", request.bytes,
                      "\r\nX-Exchange: ", request.id, "\r\n", request.last ? "Connection: close\r\n\r\n" : "\r\n");
}

Parsed ParseAnswer(absl::string_view bytes, size_t* head_bytes, AnswerHead* answer) {
  *head_bytes = HeadBytes(bytes);
  if (*head_bytes == 0) return Unended(bytes);
  absl::string_view rest = bytes.substr(0, *head_bytes - 2);
  // "HTTP/1.1 200": eight bytes, a blank, three digits.
  if (!absl::StartsWith(rest, "HTTP/1.") || rest.size() < 14 || rest[8] != ' ' ||
      !absl::SimpleAtoi(rest.substr(9, 3), &answer->status)) {
    return Parsed::kBad;
  }
  answer->closes = rest[7] == '0';
  while (!rest.empty()) {
    const size_t end = rest.find("\r\n");
    absl::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 2);
    const size_t colon = line.find(':');
    if (colon == absl::string_view::npos) continue;
    const absl::string_view name = line.substr(0, colon);
    const absl::string_view value = absl::StripAsciiWhitespace(line.substr(colon + 1));
    if (absl::EqualsIgnoreCase(name, "content-length")) {
      if (!absl::SimpleAtoi(value, &answer->length)) return Parsed::kBad;
    } else if (absl::EqualsIgnoreCase(name, "x-exchange")) {
      if (!absl::SimpleAtoi(value, &answer->id)) return Parsed::kBad;
    } else if (absl::EqualsIgnoreCase(name, "connection")) {
      if (absl::EqualsIgnoreCase(value, "close")) answer->closes = true;
      if (absl::EqualsIgnoreCase(value, "keep-alive")) answer->closes = false;
    }
  }
  return Parsed::kDone;
}

std::string TunnelOpening(Via via, const sys::SocketAddress& origin) {
  const std::string host = origin.ToString();
  if (via == Via::kConnect) return absl::StrCat("CONNECT ", host, " HTTP/1.1\r\nHost: ", host, "\r\n\r\n");
  if (via == Via::kSocks) return std::string("\5\1\0", 3);  // version 5, one method: no authentication
  return "";
}

TunnelStep NextTunnelStep(Via via, int stage, const sys::SocketAddress& origin, absl::string_view received) {
  if (via == Via::kConnect) return ConnectStep(received);
  if (via == Via::kSocks) return SocksStep(stage, origin, received);
  return {TunnelStep::kOpen, 0, ""};
}

}  // namespace sluice::bench::mix
