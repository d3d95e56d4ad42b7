// The json half of LogFormatWriter.

#include "absl/strings/str_cat.h"
#include "protocols/accounting/escape.h"
#include "protocols/accounting/log_format_writer.h"
#include "sys/base/errno_status.h"

namespace sluice::accounting {

void LogFormatWriter::JsonKey(const char* key) {
  out_ += out_.size() == start_ ? '{' : ',';
  out_ += '"';
  out_ += key;
  out_ += "\":";
}

void LogFormatWriter::JsonString(const char* key, absl::string_view text, size_t budget) {
  JsonKey(key);
  if (text.empty()) {
    out_ += "null";
    return;
  }
  out_ += '"';
  AppendJsonEscaped(text, budget, out_);
  out_ += '"';
}

void LogFormatWriter::JsonNumber(const char* key, int64_t value) {
  JsonKey(key);
  absl::StrAppend(&out_, value);
}

void LogFormatWriter::JsonAddress(const char* key, const sys::SocketAddress& address) {
  constexpr size_t kBudget = 256;
  if (address.family() == sys::AddressFamily::kNone) return JsonString(key, "", kBudget);
  JsonString(key, address.is_unix() ? absl::StrCat("unix:", address.unix_path()) : address.ToString(), kBudget);
}

void LogFormatWriter::JsonTime() {
  const tm& t = Time();
  JsonKey("time");
  out_ += '"';
  const auto part = [this](int64_t value, int digits, const char* after) {
    Padded(value, digits);
    out_ += after;
  };
  part(t.tm_year + int64_t{1900}, 4, "-");
  part(t.tm_mon + 1, 2, "-");
  part(t.tm_mday, 2, "T");
  part(t.tm_hour, 2, ":");
  part(t.tm_min, 2, ":");
  part(t.tm_sec, 2, ".");
  part(millis_, 3, "Z\"");
}

void LogFormatWriter::JsonPath(const char* key, relay::DataPath path) {
  const char* name = PathName(path);
  JsonString(key, name == nullptr ? "" : name, 16);
}

// Everything but the text takes at most 3 KB (five addresses of 256 bytes, two names of 512, the rest 700), so the text
// has 1 KB at the very least and the object always ends.
void LogFormatWriter::WriteJson() {
  const RecordAddresses* addresses = record_.addresses.get();
  JsonTime();
  JsonString("service", record_.service, 64);
  JsonNumber("port", record_.service_port);
  JsonString("user", record_.user.view(), 512);
  JsonAddress("client", record_.client);
  JsonAddress("upstream", record_.upstream);
  JsonAddress("requested", record_.Requested());
  JsonAddress("internal", addresses == nullptr ? NoAddress() : addresses->internal);
  JsonAddress("external", addresses == nullptr ? NoAddress() : addresses->external);
  JsonString("host", record_.host.view(), 512);
  JsonNumber("bytes_from_client", record_.bytes_from_client);
  JsonNumber("bytes_from_upstream", record_.bytes_from_upstream);
  JsonNumber("duration_ms", DurationMillis());
  JsonNumber("code", record_.result.number);
  JsonString("result", record_.result.name, 64);
  JsonString("errno", record_.error == 0 ? std::string() : sys::ErrnoName(record_.error), 32);
  JsonString("phase", PhaseName(record_.phase), 16);
  JsonString("side", SideName(record_.side), 16);
  JsonPath("path_from_client", record_.path_from_client);
  JsonPath("path_from_upstream", record_.path_from_upstream);
  JsonNumber("hops", record_.hops);
  JsonKey("interim");
  out_ += record_.interim ? "true" : "false";
  constexpr size_t kAround = 16;  // the key, the quotes and the brace
  const size_t room = Room();
  JsonString("text", record_.text.view(), room > kAround ? room - kAround : 0);
  out_ += '}';
}

}  // namespace sluice::accounting
