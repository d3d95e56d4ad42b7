#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "protocols/accounting/log_output.h"
#include "sys/base/unique_fd.h"

namespace sluice::accounting {
namespace {

class SharedFdOutput final : public LogOutput {
 public:
  explicit SharedFdOutput(int fd) : fd_(fd) {}

  int Open(int64_t) override {
    struct stat status {};
    if (::fstat(fd_, &status) != 0) return errno;
    if (S_ISREG(status.st_mode)) {
      way_ = Way::kPlain;  // its offset is shared too, so it is not opened again
    } else if (S_ISSOCK(status.st_mode)) {
      way_ = Way::kSend;
    } else {
      const std::string path = absl::StrCat("/proc/self/fd/", fd_);
      own_ = sys::UniqueFd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
      way_ = own_.valid() ? Way::kPlain : Way::kSmallPieces;
    }
    return 0;
  }

  sys::ErrnoOr<size_t> Write(absl::string_view lines) override {
    if (way_ == Way::kSend) return Result(::send(fd_, lines.data(), lines.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
    size_t size = lines.size();
    if (way_ == Way::kSmallPieces) {
      pollfd writable{fd_, POLLOUT, 0};
      if (::poll(&writable, 1, 0) == 0) return sys::Errno{EAGAIN};
      size = std::min<size_t>(size, PIPE_BUF);
    }
    return Result(::write(poll_fd(), lines.data(), size));
  }

  int poll_fd() const override { return own_.valid() ? own_.get() : fd_; }
  int Turn(int64_t) override { return 0; }
  // Nobody can give us another standard output: what failed may work again (a full disk), or never (a dead pipe).
  Recovery Recover(int, int64_t) override { return Recovery::kSame; }
  int Reopen(int64_t) override { return 0; }

 private:
  enum class Way : uint8_t { kPlain, kSend, kSmallPieces };

  static sys::ErrnoOr<size_t> Result(ssize_t count) {
    if (count < 0) return sys::Errno{errno == EINTR ? EAGAIN : errno};
    return static_cast<size_t>(count);
  }

  const int fd_;
  sys::UniqueFd own_;
  Way way_ = Way::kSmallPieces;
};

}  // namespace

std::unique_ptr<LogOutput> NewSharedFdOutput(int fd) { return std::make_unique<SharedFdOutput>(fd); }

}  // namespace sluice::accounting
