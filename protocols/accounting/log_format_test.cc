#include "protocols/accounting/log_format.h"

#include <stdlib.h>
#include <time.h>

#include <cerrno>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "protocols/accounting/result_code.h"
#include "protocols/accounting/traffic_record.h"
#include "relay/end_reason.h"
#include "relay/session_observer.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::accounting {
namespace {

// Ends on Wednesday 2024-03-06 07:08:09.045 UTC, after 2500 ms.
TrafficRecord Sample() {
  constexpr int64_t kEnd = 1709708889;
  TrafficRecord r;
  r.duration_nanos = 2'500 * sys::kNanosPerMilli;
  r.started_wall_nanos = kEnd * sys::kNanosPerSecond + 45 * sys::kNanosPerMilli - r.duration_nanos;
  r.client = sys::SocketAddress::Ipv4(0xc0000201, 40001);
  r.upstream = *sys::SocketAddress::ParseIp("2001:db8::1", 8080);
  r.Addresses().requested = sys::SocketAddress::Ipv4(0xc6336401, 443);
  r.Addresses().internal = sys::SocketAddress::Ipv4(0x0a000001, 3128);
  r.Addresses().external = sys::SocketAddress::Ipv4(0x0a000002, 50000);
  r.user = "alice";
  r.host = "example.org";
  r.text = "GET http://example.org/a?b HTTP/1.1";
  r.service = "PROXY";
  r.service_port = 3128;
  r.bytes_from_upstream = 10'000;
  r.bytes_from_client = 500;
  r.hops = 1;
  r.result = result::kUpstreamReadFailed;
  r.error = ECONNRESET;
  r.phase = Phase::kRelay;
  r.side = relay::EndSide::kUpstream;
  r.path_from_client = relay::DataPath::kCopy;
  r.path_from_upstream = relay::DataPath::kSplice;
  return r;
}

std::string Formatted(absl::string_view format, const TrafficRecord& record) {
  const auto compiled = LogFormat::Compile(format);
  EXPECT_TRUE(compiled.ok()) << compiled.status();
  if (!compiled.ok()) return "";
  TimeCache cache;
  std::string out;
  compiled->Format(record, cache, out);
  EXPECT_TRUE(absl::EndsWith(out, "\n"));
  EXPECT_EQ(out.find('\n'), out.size() - 1) << out;
  out.pop_back();
  return out;
}

TEST(LogFormat, EveryLetter) {
  const std::pair<const char*, const char*> rows[] = {
      {"%y", "24"},
      {"%Y", "2024"},
      {"%m", "03"},
      {"%o", "Mar"},
      {"%d", "06"},
      {"%H", "07"},
      {"%M", "08"},
      {"%S", "09"},
      {"%.", "045"},
      {"%t", "1709708889"},
      {"%z", "+0000"},
      {"%D", "2500"},
      {"%b", "200"},
      {"%B", "4000"},
      {"%U", "alice"},
      {"%n", "example.org"},
      {"%N", "PROXY"},
      {"%p", "3128"},
      {"%E", "00096"},
      {"%C", "192.0.2.1"},
      {"%c", "40001"},
      {"%R", "2001:db8::1"},
      {"%r", "8080"},
      {"%Q", "198.51.100.1"},
      {"%q", "443"},
      {"%i", "10.0.0.1"},
      {"%e", "10.0.0.2"},
      {"%I", "10000"},
      {"%O", "500"},
      {"%h", "1"},
      {"%L", "0"},
      {"%T", "GET http://example.org/a?b HTTP/1.1"},
      {"%1-1T", "GET"},
      {"%2-2T", "http://example.org/a?b"},
      {"%2-3T", "http://example.org/a?b HTTP/1.1"},
      {"%2-99T", "http://example.org/a?b HTTP/1.1"},
      {"%4-9T", ""},
      {"%%", "%"},
      {"%{result}", "upstream_read_failed"},
      {"%{errno}", "ECONNRESET"},
      {"%{phase}", "relay"},
      {"%{side}", "upstream"},
      {"%{path}", "copy/splice"},
      {"plain, text", "plain, text"},
      {"%%y%y", "%y24"},
  };
  const TrafficRecord record = Sample();
  for (const auto& [letter, text] : rows) EXPECT_EQ(Formatted(absl::StrCat("G", letter), record), text) << letter;
}

TEST(LogFormat, TheDefaultIsThreeProxys) {
  EXPECT_EQ(Formatted(LogFormat::kDefault, Sample()),
            "240306070809.045 3128 00096 alice 192.0.2.1:40001 2001:db8::1:8080 500 10000 1 "
            "GET http://example.org/a?b HTTP/1.1");
  TimeCache cache;
  std::string out;
  LogFormat().Format(Sample(), cache, out);
  EXPECT_EQ(out, Formatted(LogFormat::kDefault, Sample()) + "\n");
}

TEST(LogFormat, AnEmptyRecordHasPlaceholders) {
  TrafficRecord record;
  EXPECT_EQ(Formatted("G%U %C:%c %R:%r %i %e %n %N %b %E %{errno} %{path} %T.", record),
            "- 0.0.0.0:0 0.0.0.0:0 0.0.0.0 0.0.0.0 [0.0.0.0] - 0 00000 - -/- .");
}

TEST(LogFormat, HostIsANameOrAnAddressInBrackets) {
  TrafficRecord record;
  record.upstream = sys::SocketAddress::Ipv4(0xc6336401, 443);
  EXPECT_EQ(Formatted("G%n", record), "[198.51.100.1]");
  record.host = "198.51.100.1";  // asked for as text: printed as it was
  EXPECT_EQ(Formatted("G%n", record), "198.51.100.1");
  record.host = "2001:db8::1";
  record.upstream = *sys::SocketAddress::ParseIp("2001:db8::1", 1);
  EXPECT_EQ(Formatted("G%n", record), "[2001:db8::1]");
}

TEST(LogFormat, UnixAddresses) {
  TrafficRecord record;
  record.upstream = *sys::SocketAddress::ParseUnix("/run/a b.sock");
  EXPECT_EQ(Formatted("G%R:%r", record), "unix:/run/a\\x20b.sock:0");
}

class Zone {
 public:
  explicit Zone(const char* name) {
    ::setenv("TZ", name, 1);
    ::tzset();
  }
  ~Zone() {
    ::unsetenv("TZ");
    ::tzset();
  }
};

TEST(LogFormat, LocalTimeAndItsZone) {
  const TrafficRecord record = Sample();
  {
    Zone zone("XST-05:30");
    EXPECT_EQ(Formatted("L%Y-%m-%d %H:%M:%S %z", record), "2024-03-06 12:38:09 +0530");
    EXPECT_EQ(Formatted("G%H:%M %z", record), "07:08 +0000");
    EXPECT_EQ(Formatted("l%H", record), "12");
  }
  Zone zone("XST+09:30");
  EXPECT_EQ(Formatted("L%m-%d %H:%M %z", record), "03-05 21:38 -0930");
}

TEST(LogFormat, TheTimeCacheKeepsUpWithTheRecords) {
  const LogFormat format = *LogFormat::Compile("G%H%M%S%.");
  TimeCache cache;
  std::string out;
  TrafficRecord record = Sample();
  format.Format(record, cache, out);
  record.started_wall_nanos += 999 * sys::kNanosPerMilli;
  format.Format(record, cache, out);
  record.started_wall_nanos -= 2 * sys::kNanosPerSecond;
  format.Format(record, cache, out);
  EXPECT_EQ(out, "070809045\n070810044\n070808044\n");
}

TEST(LogFormat, WhatIsWrongIsNamed) {
  const std::pair<const char*, const char*> rows[] = {
      {"", "begins with L"},
      {"%y", "begins with L"},
      {"Jjson", "begins with L"},
      {"G%Z", "unknown letter %Z"},
      {"G%x %y", "unknown letter %x"},
      {"G%\x01", "unknown letter %\\x1"},
      {"G%", "without a letter"},
      {"G%2T", "%a-bT"},
      {"G%2-T", "%a-bT"},
      {"G%3-2T", "%a-bT"},
      {"G%0-1T", "%a-bT"},
      {"G%1-2U", "%a-bT"},
      {"G%1-99999T", "%a-bT"},
      {"G%{bogus}", "%{bogus}"},
      {"G%{result", "%{"},
      {"Ga\nb", "line break"},
      {"-abc", "-CHARS+R"},
      {"-abc+", "-CHARS+R"},
      {"-abc+\n", "-CHARS+R"},
      {"-abc+_", "begins with L"},
  };
  for (const auto& [format, part] : rows) {
    const auto compiled = LogFormat::Compile(format);
    ASSERT_FALSE(compiled.ok()) << format;
    EXPECT_TRUE(absl::StrContains(compiled.status().message(), part)) << format << ": " << compiled.status();
  }
}

TEST(LogFormat, NobodyForgesALine) {
  TrafficRecord record;
  record.user = "a\r\nFAKE 200";
  record.host = "x\nFAKE";
  record.text = "\x1b[2J a\"b c\t \x7f \xff";
  EXPECT_EQ(Formatted("G%U %n %T", record), "a\\x0D\\x0AFAKE\\x20200 x\\x0AFAKE \\x1B[2J a\\x22b c\\x09 \\x7F \\xFF");
}

TEST(LogFormat, ReplacementAsTheOperatorSays) {
  TrafficRecord record = Sample();
  record.user = "a b,c\r\n\"";
  record.text = "GET /a b\tc \xff,";
  EXPECT_EQ(Formatted("- ,+_G%U|%T|%1-2T|%Y %m", record), "a_b_c__\"|GET_/a_b_c___|GET_/a|2024 03");
  EXPECT_EQ(Formatted("-+.G%U", record), "a b,c..\"");
}

TEST(LogFormat, ALongRecordIsCutBetweenCharactersAndKeepsItsEnd) {
  TrafficRecord record = Sample();
  std::string text = "x";
  while (text.size() < 6000) text += "\xc3\xbc";
  record.text = text;
  const std::string line = Formatted("G%T\" %E %I", record);
  EXPECT_LT(line.size(), LogFormat::kMaxLineBytes);
  EXPECT_GT(line.size(), LogFormat::kMaxLineBytes - 120);
  EXPECT_TRUE(absl::EndsWith(line, "\xc3\xbc\" 00096 10000")) << line.substr(line.size() - 40);

  record.text = std::string(4096, '\n');
  EXPECT_EQ((Formatted("G%T", record).size()) % 4, 0u);  // whole \x0A only

  const std::string literal = std::string(4094, 'y') + "\xc3\xbc";
  EXPECT_EQ(Formatted(absl::StrCat("G", literal), record), std::string(4094, 'y'));
}

TEST(LogFormat, Json) {
  EXPECT_EQ(Formatted("json", Sample()),
            R"({"time":"2024-03-06T07:08:09.045Z","service":"PROXY","port":3128,"user":"alice",)"
            R"("client":"192.0.2.1:40001","upstream":"[2001:db8::1]:8080","requested":"198.51.100.1:443",)"
            R"("internal":"10.0.0.1:3128","external":"10.0.0.2:50000","host":"example.org",)"
            R"("bytes_from_client":500,"bytes_from_upstream":10000,"duration_ms":2500,"code":96,)"
            R"("result":"upstream_read_failed","errno":"ECONNRESET","phase":"relay","side":"upstream",)"
            R"("path_from_client":"copy","path_from_upstream":"splice","hops":1,"interim":false,)"
            R"("text":"GET http://example.org/a?b HTTP/1.1"})");
}

TEST(LogFormat, JsonOfAnEmptyRecordHasNulls) {
  EXPECT_EQ(Formatted("json", TrafficRecord()),
            R"({"time":"1970-01-01T00:00:00.000Z","service":"-","port":0,"user":null,"client":null,"upstream":null,)"
            R"("requested":null,"internal":null,"external":null,"host":null,"bytes_from_client":0,)"
            R"("bytes_from_upstream":0,"duration_ms":0,"code":0,"result":"ok","errno":null,"phase":"accept",)"
            R"("side":"us","path_from_client":null,"path_from_upstream":null,"hops":0,"interim":false,"text":null})");
}

TEST(LogFormat, JsonEscapesWhateverComes) {
  TrafficRecord record;
  record.user = "a\"b\\\r\n\x1b\xff\xc3\xbc";
  EXPECT_TRUE(absl::StrContains(Formatted("json", record), "\"user\":\"a\\\"b\\\\\\r\\n\\u001b\\ufffd\xc3\xbc\","));
}

TEST(LogFormat, JsonStaysAnObjectWhenEverythingIsTooLong) {
  TrafficRecord record = Sample();
  const std::string bad(4096, '\x01');
  record.user = bad;
  record.host = bad;
  record.text = bad;
  const auto path = *sys::SocketAddress::ParseUnix("/" + std::string(100, '\x02'));
  record.client = record.upstream = path;
  record.Addresses() = {path, path, path};
  const std::string line = Formatted("json", record);
  EXPECT_LE(line.size() + 1, LogFormat::kMaxLineBytes);
  EXPECT_GT(line.size(), LogFormat::kMaxLineBytes - 20);
  EXPECT_TRUE(absl::EndsWith(line, "\\u0001\"}")) << line.substr(line.size() - 30);
}

TEST(LogFormat, AppendsToWhatIsThere) {
  std::string out = std::string(10'000, 'z');
  TimeCache cache;
  LogFormat::Compile("G%U")->Format(Sample(), cache, out);
  LogFormat::Compile("json")->Format(Sample(), cache, out);
  EXPECT_EQ(out.substr(9'999, 8), "zalice\n{");
}

TEST(LogFormat, AbsurdNumbersDoNoHarm) {
  TrafficRecord record;
  record.started_wall_nanos = std::numeric_limits<int64_t>::max();
  record.duration_nanos = std::numeric_limits<int64_t>::max();
  record.bytes_from_client = std::numeric_limits<int64_t>::max();
  record.bytes_from_upstream = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(Formatted("G%Y %B %I", record), "2262 0 -9223372036854775808");
  record.started_wall_nanos = std::numeric_limits<int64_t>::min();
  record.duration_nanos = -1;
  EXPECT_FALSE(Formatted("G%y%Y%o%t%z%D%b", record).empty());
  EXPECT_FALSE(Formatted("json", record).empty());
}

}  // namespace
}  // namespace sluice::accounting
