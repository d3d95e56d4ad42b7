#include "protocols/accounting/counters/counter_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "sys/base/errno_status.h"
#include "sys/base/root_path.h"
#include "sys/base/unique_fd.h"

namespace sluice::accounting {
namespace {

constexpr absl::string_view kHeader = "sluice counters 1\n";
constexpr absl::string_view kForeignHeader("3CF\0", 4);
constexpr size_t kForeignHeaderBytes = 16;
constexpr size_t kForeignRecordBytes = 24;
constexpr size_t kMostFileBytes = 64 * 1024 * 1024;

absl::Status Broken(absl::string_view what) { return absl::DataLossError(what); }

int64_t NumberAt(absl::string_view bytes, size_t at) {
  int64_t number;
  std::memcpy(&number, bytes.data() + at, sizeof(number));
  return number;
}

absl::StatusOr<std::vector<CounterRecord>> DecodeForeign(absl::string_view contents) {
  if (contents.size() < kForeignHeaderBytes || (contents.size() - kForeignHeaderBytes) % kForeignRecordBytes != 0) {
    return Broken("its length is not that of a 3proxy counter file");
  }
  std::vector<CounterRecord> records;
  for (size_t at = kForeignHeaderBytes; at < contents.size(); at += kForeignRecordBytes) {
    CounterRecord record;
    record.number = static_cast<int>((at - kForeignHeaderBytes) / kForeignRecordBytes) + 1;
    record.bytes = NumberAt(contents, at);
    record.cleared_seconds = NumberAt(contents, at + 8);
    record.updated_seconds = NumberAt(contents, at + 16);
    if (record.bytes < 0) return Broken(absl::StrCat("counter ", record.number, " is negative"));
    records.push_back(std::move(record));
  }
  return records;
}

bool DecodeLine(absl::string_view line, CounterRecord& record) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, absl::MaxSplits(' ', 4));
  if (words.size() < 4) return false;
  if (!absl::SimpleAtoi(words[0], &record.number) || !absl::SimpleAtoi(words[1], &record.bytes) ||
      !absl::SimpleAtoi(words[2], &record.cleared_seconds) || !absl::SimpleAtoi(words[3], &record.updated_seconds)) {
    return false;
  }
  if (words.size() == 5 && !absl::CUnescape(words[4], &record.key)) return false;
  return record.number > 0 && record.bytes >= 0;
}

absl::Status WriteAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      return sys::ErrnoStatus(errno, "write");
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string EncodeCounters(const std::vector<CounterRecord>& records) {
  std::string text(kHeader);
  for (const CounterRecord& record : records) {
    absl::StrAppend(&text, record.number, " ", record.bytes, " ", record.cleared_seconds, " ", record.updated_seconds);
    if (!record.key.empty()) absl::StrAppend(&text, " ", absl::CHexEscape(record.key));
    text += '\n';
  }
  absl::StrAppend(&text, "end ", records.size(), "\n");
  return text;
}

bool IsForeignCounterFile(absl::string_view contents) { return absl::StartsWith(contents, kForeignHeader); }

absl::StatusOr<std::vector<CounterRecord>> DecodeCounters(absl::string_view contents) {
  if (contents.empty()) return std::vector<CounterRecord>();
  if (IsForeignCounterFile(contents)) return DecodeForeign(contents);
  if (!absl::StartsWith(contents, kHeader)) return Broken("it is no counter file");
  contents.remove_prefix(kHeader.size());
  std::vector<CounterRecord> records;
  for (;;) {
    const size_t end = contents.find('\n');
    if (end == absl::string_view::npos) return Broken("its end is missing");
    const absl::string_view line = contents.substr(0, end);
    contents.remove_prefix(end + 1);
    if (absl::StartsWith(line, "end ")) {
      if (line.substr(4) != absl::AlphaNum(records.size()).Piece() || !contents.empty()) {
        return Broken("its number of counters is wrong");
      }
      return records;
    }
    CounterRecord record;
    if (!DecodeLine(line, record)) return Broken(absl::StrCat("line ", records.size() + 2, " is none of a counter"));
    records.push_back(std::move(record));
  }
}

absl::StatusOr<std::string> ReadCounterFile(const std::string& path_outside) {
  const std::string path = sys::PathInRoot(path_outside);
  const sys::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) {
    if (errno == ENOENT) return std::string();
    return sys::ErrnoStatus(errno, "open");
  }
  std::string contents;
  char buffer[64 * 1024];
  for (;;) {
    const ssize_t got = read(fd.get(), buffer, sizeof(buffer));
    if (got == 0) return contents;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return sys::ErrnoStatus(errno, "read");
    contents.append(buffer, static_cast<size_t>(got));
    if (contents.size() > kMostFileBytes) return Broken("it has more than 64 MB");
  }
}

absl::Status WriteCounterFile(const std::string& path_outside, absl::string_view contents) {
  const std::string path = sys::PathInRoot(path_outside);
  const std::string fresh = absl::StrCat(path, ".new");
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  {
    const sys::UniqueFd fd(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.valid()) return sys::ErrnoStatus(errno, absl::StrCat("open ", fresh));
    if (absl::Status status = WriteAll(fd.get(), contents); !status.ok()) return status;
    if (fsync(fd.get()) != 0) return sys::ErrnoStatus(errno, absl::StrCat("fsync ", fresh));
  }
  if (rename(fresh.c_str(), path.c_str()) != 0) return sys::ErrnoStatus(errno, absl::StrCat("rename ", fresh));
  // The name must be on the disk as well. Some file systems have no fsync of folders: the file is whole all the same.
  const sys::UniqueFd holder(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (holder.valid()) (void)fsync(holder.get());
  return absl::OkStatus();
}

std::string CounterReport(const std::vector<CounterRecord>& records) {
  std::string text;
  for (const CounterRecord& record : records) {
    absl::StrAppendFormat(&text, "%05d %020d", record.number, record.bytes);
    if (!record.key.empty()) absl::StrAppend(&text, " ", absl::CHexEscape(record.key));
    if (!record.comment.empty()) absl::StrAppend(&text, " #", record.comment);
    text += '\n';
  }
  return text;
}

}  // namespace sluice::accounting
