#include "bench/load/http.h"

#include <strings.h>

#include <charconv>

namespace sluice::bench {
namespace {

bool Same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::optional<uint64_t> Number(std::string_view text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// Takes the next line off `head`, without its end.
std::string_view NextLine(std::string_view& head) {
  size_t end = head.find('\n');
  std::string_view line = head.substr(0, end);
  head.remove_prefix(end == std::string_view::npos ? head.size() : end + 1);
  return Trim(line);
}

struct Fields {
  std::optional<uint64_t> body_bytes;
  bool close = false;
  bool bad = false;
};

// What is after the first line. `close` comes in as the version has it.
Fields ParseFields(std::string_view head, bool close) {
  Fields fields;
  fields.close = close;
  while (!head.empty()) {
    std::string_view line = NextLine(head);
    size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view name = line.substr(0, colon);
    std::string_view value = Trim(line.substr(colon + 1));
    if (Same(name, "content-length")) {
      fields.body_bytes = Number(value);
      fields.bad = fields.bad || !fields.body_bytes;
    }
    if (Same(name, "transfer-encoding")) fields.bad = true;
    if (Same(name, "connection") && Same(value, "close")) fields.close = true;
    if (Same(name, "connection") && Same(value, "keep-alive")) fields.close = false;
  }
  return fields;
}

}  // namespace

size_t HeadBytes(std::string_view text) {
  size_t end = text.find("\r\n\r\n");
  return end == std::string_view::npos ? 0 : end + 4;
}

std::optional<AnswerHead> ParseAnswerHead(std::string_view head) {
  std::string_view line = NextLine(head);
  if (line.size() < 12 || line.substr(0, 7) != "HTTP/1." || line[8] != ' ') return std::nullopt;
  std::optional<uint64_t> status = Number(line.substr(9, 3));
  Fields fields = ParseFields(head, line[7] == '0');
  if (!status || fields.bad) return std::nullopt;
  return AnswerHead{static_cast<int>(*status), fields.body_bytes, fields.close || !fields.body_bytes};
}

std::optional<RequestHead> ParseRequestHead(std::string_view head) {
  std::string_view line = NextLine(head);
  size_t first = line.find(' ');
  size_t last = line.rfind(' ');
  if (first == last || line.substr(last + 1).substr(0, 7) != "HTTP/1.") return std::nullopt;
  std::string_view url = line.substr(first + 1, last - first - 1);
  std::optional<uint64_t> answer = Number(url.substr(url.rfind('/') + 1));
  Fields fields = ParseFields(head, line.back() == '0');
  if (!answer || fields.bad) return std::nullopt;
  return RequestHead{*answer, fields.body_bytes.value_or(0), fields.close};
}

std::string MakeRequest(const std::string& url, const std::string& host, size_t body, bool close) {
  std::string head = (body > 0 ? "POST " : "GET ") + url + " HTTP/1.1\r\nHost: " + host + "\r\n";
  if (body > 0) head += "Content-Length: " + std::to_string(body) + "\r\n";
  if (close) head += "Connection: close\r\n";
  return head + "\r\n";
}

std::string MakeAnswerHead(uint64_t body_bytes, bool close) {
  return "HTTP/1.1 200 OK\r\nServer: loadtool\r\nContent-Type: application/octet-stream\r\nContent-Length: " +
         std::to_string(body_bytes) + (close ? "\r\nConnection: close\r\n\r\n" : "\r\n\r\n");
}

}  // namespace sluice::bench
