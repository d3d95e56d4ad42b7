// Input: a format, a NUL, then bytes that become a record's fields. Any format compiles or gives a message; any record
// becomes one line of printable text; json becomes one object.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"
#include "protocols/accounting/log_format.h"
#include "protocols/accounting/traffic_record.h"
#include "relay/session_observer.h"
#include "sys/net/socket_address.h"

namespace sluice::accounting {
namespace {

void Check(bool good) {
  if (!good) std::abort();
}

// Takes what the next length byte says.
absl::string_view Take(absl::string_view& data) {
  if (data.empty()) return data;
  const size_t length = static_cast<uint8_t>(data.front());
  const absl::string_view piece = data.substr(1, length);
  data.remove_prefix(1 + piece.size());
  return piece;
}

int64_t TakeNumber(absl::string_view& data) {
  int64_t number = 0;
  const size_t length = data.size() < sizeof(number) ? data.size() : sizeof(number);
  if (length > 0) std::memcpy(&number, data.data(), length);
  data.remove_prefix(length);
  return number;
}

TrafficRecord RecordOf(absl::string_view data) {
  TrafficRecord record;
  record.user = Take(data);
  record.host = Take(data);
  if (auto path = sys::SocketAddress::ParseUnix(Take(data)); path.ok()) record.client = *path;
  record.started_wall_nanos = TakeNumber(data);
  record.duration_nanos = TakeNumber(data);
  record.bytes_from_client = TakeNumber(data);
  record.bytes_from_upstream = TakeNumber(data);
  record.error = static_cast<int>(TakeNumber(data) & 0xfff);
  record.text = data;
  return record;
}

// The operator's own text may hold a tab or a broken character; the network's may not.
void CheckLine(absl::string_view line, absl::string_view format) {
  Check(line.size() <= LogFormat::kMaxLineBytes && !line.empty() && line.back() == '\n');
  line.remove_suffix(1);
  Check(line.find('\n') == absl::string_view::npos && line.find('\r') == absl::string_view::npos);
  for (const char c : line) {
    const uint8_t byte = static_cast<uint8_t>(c);
    if (byte < 0x20 || byte == 0x7f) Check(format.find(c) != absl::string_view::npos);
  }
}

// Strings end, the braces are the first and the last character, nothing is nested.
void CheckJson(absl::string_view line) {
  Check(line.front() == '{' && line.substr(line.size() - 2) == "}\n");
  bool in_string = false;
  for (size_t i = 1; i + 2 < line.size(); ++i) {
    if (in_string && line[i] == '\\') {
      ++i;
    } else if (line[i] == '"') {
      in_string = !in_string;
    } else if (!in_string) {
      Check(line[i] != '{' && line[i] != '}');
    }
  }
  Check(!in_string);
}

}  // namespace
}  // namespace sluice::accounting

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice::accounting;
  const absl::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t nul = input.find('\0');
  const absl::string_view format = input.substr(0, nul);
  const TrafficRecord record = RecordOf(nul == absl::string_view::npos ? absl::string_view() : input.substr(nul + 1));
  TimeCache cache;
  std::string line;
  if (const auto compiled = LogFormat::Compile(format); compiled.ok()) {
    compiled->Format(record, cache, line);
    CheckLine(line, format);
  } else {
    Check(!compiled.status().message().empty());
  }
  cache = {};
  line.clear();
  LogFormat::Compile("json")->Format(record, cache, line);
  CheckLine(line, "");
  CheckJson(line);
  return 0;
}
