#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "protocols/accounting/log_output.h"
#include "sys/base/unique_fd.h"

namespace sluice::accounting {
namespace {

// <PRI> = facility daemon (3) * 8 + severity info (6): what 3proxy's records have.
constexpr char kPriority[] = "<30>";

// glibc's syslog() takes a lock and blocks on a full socket; this does neither.
class SyslogOutput final : public LogOutput {
 public:
  SyslogOutput(const std::string& ident, const std::string& path)
      : tag_(absl::StrCat(" ", ident, "[", ::getpid(), "]: ")), path_(path) {}

  int Open(int64_t) override {
    Connect();  // not there yet = not an error
    return 0;
  }

  sys::ErrnoOr<size_t> Write(absl::string_view lines) override {
    size_t taken = 0;
    while (taken < lines.size()) {
      const size_t newline = lines.find('\n', taken);
      const size_t end = newline == absl::string_view::npos ? lines.size() : newline;
      const int error = SendOrReconnect(lines.substr(taken, end - taken));
      if (error != 0) return taken > 0 ? sys::ErrnoOr<size_t>(taken) : sys::Errno{error};
      taken = std::min(end + 1, lines.size());
    }
    return taken;
  }

  int poll_fd() const override { return fd_.get(); }
  int Turn(int64_t) override { return 0; }
  Recovery Recover(int, int64_t) override { return Connect() == 0 ? Recovery::kSame : Recovery::kFailed; }
  int Reopen(int64_t) override { return Connect(); }

 private:
  int Connect() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path_.size() >= sizeof(address.sun_path)) return ENAMETOOLONG;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    fd_ = sys::UniqueFd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd_.valid()) return errno;
    if (::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return 0;
    const int error = errno;
    fd_.reset();
    return error;
  }

  // A restarted syslog has a new socket: ECONNREFUSED on ours, and the next connect works.
  int SendOrReconnect(absl::string_view line) {
    int error = Send(line);
    if (error == ECONNREFUSED || error == ENOTCONN || error == ECONNRESET || error == EPIPE) {
      error = Connect();
      if (error == 0) error = Send(line);
    }
    return error;
  }

  int Send(absl::string_view line) {
    if (!fd_.valid()) return ENOTCONN;
    const time_t now = ::time(nullptr);
    if (now != stamped_) {
      tm parts{};
      ::localtime_r(&now, &parts);
      char text[32];
      stamp_.assign(text, ::strftime(text, sizeof(text), "%b %e %H:%M:%S", &parts));
      stamped_ = now;
    }
    packet_.clear();
    absl::StrAppend(&packet_, kPriority, stamp_, tag_, line);
    if (::send(fd_.get(), packet_.data(), packet_.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return 0;
    return errno == EINTR ? EAGAIN : errno;
  }

  const std::string tag_;
  const std::string path_;
  sys::UniqueFd fd_;
  time_t stamped_ = -1;
  std::string stamp_;
  std::string packet_;
};

}  // namespace

std::unique_ptr<LogOutput> NewSyslogOutput(const std::string& ident, const std::string& path) {
  return std::make_unique<SyslogOutput>(ident, path);
}

}  // namespace sluice::accounting
