#ifndef SLUICE_PROTOCOLS_ACCOUNTING_LOG_FORMAT_WRITER_H_
#define SLUICE_PROTOCOLS_ACCOUNTING_LOG_FORMAT_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "protocols/accounting/log_format.h"

namespace sluice::accounting {

// Writes one record for LogFormat::Format; private to it. Everything is appended within the line's budget: what does
// not fit is cut between characters, never inside one or inside an escape.
//
// Thread-compatible; lives for one record.
class LogFormatWriter {
 public:
  LogFormatWriter(const LogFormat& format, const TrafficRecord& record, TimeCache& cache, std::string& out);

  void Write(const LogFormat::Step& step);
  void WriteJson();

 private:
  using Op = LogFormat::Op;

  static const char* SideName(relay::EndSide side);
  static const char* PathName(relay::DataPath path);  // null = no byte went
  static const sys::SocketAddress& NoAddress();

  size_t Room() const;
  // Fixed pieces: literals, numbers, names.
  void Raw(absl::string_view piece);
  void Padded(int64_t value, int digits);
  void Number(int64_t value);
  // From the network. Leaves a little room for the letters that follow.
  bool Untrusted(absl::string_view text, bool escape_blanks);
  void Ip(const sys::SocketAddress& address);
  void Port(const sys::SocketAddress& address) { Number(address.port()); }
  void Rate(int64_t bytes);
  void Host();
  void Words(uint16_t first, uint16_t last);
  void Zone();
  void Paths();

  bool WriteTime(Op op);
  bool WriteAddress(Op op);
  bool WriteNumber(Op op);
  void WriteText(const LogFormat::Step& step);

  void JsonKey(const char* key);
  void JsonString(const char* key, absl::string_view text, size_t budget);
  void JsonNumber(const char* key, int64_t value);
  void JsonAddress(const char* key, const sys::SocketAddress& address);
  void JsonTime();
  void JsonPath(const char* key, relay::DataPath path);

  const tm& Time();
  int64_t DurationMillis() const { return record_.duration_nanos / sys::kNanosPerMilli; }

  const LogFormat& format_;
  const TrafficRecord& record_;
  TimeCache& cache_;
  std::string& out_;
  const size_t start_;
  int64_t second_ = 0;  // of the record's time
  int millis_ = 0;
};

}  // namespace sluice::accounting

#endif  // SLUICE_PROTOCOLS_ACCOUNTING_LOG_FORMAT_WRITER_H_
