#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "protocols/accounting/log_output.h"
#include "sys/base/root_path.h"
#include "sys/base/unique_fd.h"

namespace sluice::accounting {
namespace {

// How many names before the oldest kept one are looked for at each change: files left by a time when sluice was down.
constexpr int kRemovedNames = 64;

// Names of users are in it: nothing for the rest of the world.
constexpr mode_t kMode = 0640;

class FileOutput final : public LogOutput {
 public:
  explicit FileOutput(const LogTarget& target) : target_(target) {}

  int Open(int64_t unix_seconds) override {
    const int error = OpenNamed(unix_seconds);
    return error == ENXIO ? 0 : error;  // a FIFO that nobody reads yet
  }

  sys::ErrnoOr<size_t> Write(absl::string_view lines) override {
    if (!fd_.valid()) return sys::Errno{ENXIO};
    const ssize_t count = ::write(fd_.get(), lines.data(), lines.size());
    if (count < 0) return sys::Errno{errno == EINTR ? EAGAIN : errno};
    return static_cast<size_t>(count);
  }

  int poll_fd() const override { return fd_.get(); }

  int Turn(int64_t unix_seconds) override {
    // A clock set back by more than the period gets its old name again.
    if (unix_seconds < next_change_ && unix_seconds >= opened_at_) return 0;
    if (next_change_ == INT64_MAX) return 0;
    if (target_.NameAt(unix_seconds) == path_ && fd_.valid()) {
      Note(unix_seconds);
      return 0;
    }
    const int error = OpenNamed(unix_seconds);
    if (error == 0) RemoveOld(unix_seconds);
    return error;
  }

  Recovery Recover(int error, int64_t unix_seconds) override {
    const bool space = error == ENOSPC || error == EDQUOT || error == ENOMEM || error == EFBIG || error == EAGAIN;
    if (space && fd_.valid() && !Replaced()) return Emptied() ? Recovery::kFresh : Recovery::kSame;
    return OpenNamed(unix_seconds) == 0 ? Recovery::kFresh : Recovery::kFailed;
  }

  int Reopen(int64_t unix_seconds) override { return OpenNamed(unix_seconds); }

 private:
  static sys::UniqueFd OpenPath(const std::string& path_outside) {
    const std::string path_in_root = sys::PathInRoot(path_outside);
    const char* path = path_in_root.c_str();
    constexpr int kFlags = O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    struct stat status {};
    if (::stat(path, &status) == 0 && S_ISFIFO(status.st_mode)) {
      // Both ends, so that a FIFO without a reader holds what fits instead of EPIPE, and a new reader goes on with it.
      sys::UniqueFd both(::open(path, O_RDWR | kFlags));
      if (both.valid() || errno != EACCES) return both;
    }
    return sys::UniqueFd(::open(path, O_WRONLY | O_CREAT | kFlags, kMode));
  }

  int OpenNamed(int64_t unix_seconds) {
    std::string path = target_.NameAt(unix_seconds);
    sys::UniqueFd fd = OpenPath(path);
    if (!fd.valid()) return errno;
    fd_ = std::move(fd);
    path_ = std::move(path);
    Note(unix_seconds);
    return 0;
  }

  void Note(int64_t unix_seconds) {
    opened_at_ = unix_seconds;
    next_change_ = target_.NextChange(unix_seconds);
  }

  // Someone removed or renamed the file: a full disk is not freed before we close it.
  bool Replaced() const {
    struct stat ours {
    }, named{};
    if (::fstat(fd_.get(), &ours) != 0 || !S_ISREG(ours.st_mode)) return false;
    if (::stat(sys::PathInRoot(path_).c_str(), &named) != 0) return errno == ENOENT;
    return ours.st_dev != named.st_dev || ours.st_ino != named.st_ino;
  }

  // Someone made room by cutting the file to nothing, the beginning of a torn line included.
  bool Emptied() const {
    struct stat ours {};
    return ::fstat(fd_.get(), &ours) == 0 && S_ISREG(ours.st_mode) && ours.st_size == 0;
  }

  void RemoveOld(int64_t unix_seconds) const {
    if (target_.keep <= 0 || target_.rotation == Rotation::kNone) return;
    // A template may be coarser than its period: the name of an old period can be that of a file still kept.
    const std::string oldest_kept = target_.NameAt(unix_seconds, target_.keep);
    for (int back = target_.keep + 1; back <= target_.keep + kRemovedNames; ++back) {
      const std::string old = target_.NameAt(unix_seconds, back);
      if (old != path_ && old != oldest_kept) ::unlink(sys::PathInRoot(old).c_str());
    }
  }

  const LogTarget target_;
  sys::UniqueFd fd_;
  std::string path_;
  int64_t opened_at_ = 0;
  int64_t next_change_ = INT64_MAX;
};

class DiscardOutput final : public LogOutput {
 public:
  int Open(int64_t) override { return 0; }
  sys::ErrnoOr<size_t> Write(absl::string_view lines) override { return lines.size(); }
  int poll_fd() const override { return -1; }
  int Turn(int64_t) override { return 0; }
  Recovery Recover(int, int64_t) override { return Recovery::kSame; }
  int Reopen(int64_t) override { return 0; }
};

}  // namespace

std::unique_ptr<LogOutput> NewFileOutput(const LogTarget& target) { return std::make_unique<FileOutput>(target); }

std::unique_ptr<LogOutput> NewDiscardOutput() { return std::make_unique<DiscardOutput>(); }

}  // namespace sluice::accounting
