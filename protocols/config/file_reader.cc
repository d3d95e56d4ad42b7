#include "protocols/config/file_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sys/base/errno_status.h"
#include "sys/base/unique_fd.h"

namespace sluice::config {
namespace {

absl::Status ReadError(int error) { return absl::Status(absl::ErrnoToStatusCode(error), sys::ErrnoText(error)); }

absl::Status TooLong(size_t limit_bytes) {
  return absl::OutOfRangeError(
      absl::StrCat("it has more than the ", limit_bytes, " bytes that are left of ", kConfigurationLimitBytes,
                   ", which is all that a configuration and the files it names may have together"));
}

std::string InsideChroot(const std::string& path, absl::string_view prefix) {
  while (absl::EndsWith(prefix, "/")) prefix.remove_suffix(1);
  if (prefix.empty() || !absl::StartsWith(path, absl::StrCat(prefix, "/"))) return path;
  return path.substr(prefix.size());
}

bool IsFifo(int fd) {
  struct stat file;
  return fstat(fd, &file) == 0 && S_ISFIFO(file.st_mode);
}

}  // namespace

absl::StatusOr<std::string> SystemFileReader::Read(const std::string& path, size_t limit_bytes) {
  sys::UniqueFd opened;
  int fd = STDIN_FILENO;
  if (path != "-") {
    const bool may_wait = fifos_ == Fifos::kWait;
    opened = sys::UniqueFd(::open(InsideChroot(path, chroot_prefix_).c_str(),
                                  O_RDONLY | O_CLOEXEC | O_NOCTTY | (may_wait ? 0 : O_NONBLOCK)));
    if (!opened.valid()) return ReadError(errno);
    if (!may_wait && IsFifo(opened.get())) {
      return absl::FailedPreconditionError("it is a pipe, whose text was read once and is gone");
    }
    fd = opened.get();
  }
  std::string text;
  for (;;) {
    constexpr size_t kStep = size_t{64} << 10;
    const size_t have = text.size();
    text.resize(have + kStep);
    ssize_t n;
    do {
      n = ::read(fd, &text[have], kStep);
    } while (n < 0 && errno == EINTR);
    if (n < 0) return ReadError(errno);
    text.resize(have + static_cast<size_t>(n));
    if (text.size() > limit_bytes) return TooLong(limit_bytes);
    if (n == 0) return text;
  }
}

absl::StatusOr<std::string> BudgetReader::Read(const std::string& path, size_t limit_bytes) {
  absl::StatusOr<std::string> text = reader_.Read(path, std::min(limit_bytes, left_));
  if (text.ok()) left_ -= std::min(left_, text->size());
  return text;
}

}  // namespace sluice::config
