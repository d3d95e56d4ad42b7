#include "tools/sluice/say.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sys/thread/mutex.h"

namespace sluice::tools {
namespace {

class ErrorStream {
 public:
  void Write(absl::string_view text) {
    sys::MutexLock lock(mutex_);
    if (lost_lines_ > 0 && !WritePiece(absl::StrCat(
                               "(", lost_lines_, " lines before this one were lost: ", "standard error was full)\n"))) {
      lost_lines_ += Lines(text);
      return;
    }
    lost_lines_ = 0;
    while (!text.empty()) {
      const absl::string_view piece = text.substr(0, kPieceBytes);
      if (!WritePiece(piece)) break;
      text.remove_prefix(piece.size());
    }
    lost_lines_ += Lines(text);
  }

 private:
  // A pipe that poll(2) calls writable takes so many bytes without blocking (pipe(7)).
  static constexpr size_t kPieceBytes = PIPE_BUF;

  static int64_t Lines(absl::string_view text) { return std::count(text.begin(), text.end(), '\n'); }

  // False: no room. A stream that is closed or broken takes everything, as there is nothing to wait for.
  bool WritePiece(absl::string_view piece) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    pollfd wait = {STDERR_FILENO, POLLOUT, 0};
    // Who waited once in vain is not waited for again.
    int ready;
    do {
      ready = poll(&wait, 1, lost_lines_ > 0 ? 0 : kMostWaitMillis);
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) return false;
    while (!piece.empty()) {
      const ssize_t n = write(STDERR_FILENO, piece.data(), piece.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno != EAGAIN;  // others may have made it non-blocking
      piece.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }

  sys::Mutex mutex_;
  int64_t lost_lines_ ABSL_GUARDED_BY(mutex_) = 0;
};

ErrorStream& TheErrorStream() {
  static ErrorStream& stream = *new ErrorStream;  // threads may speak until the very end
  return stream;
}

}  // namespace

void Say(const std::string& line) { SayText(line + "\n"); }

void SayText(const std::string& text) { TheErrorStream().Write(text); }

}  // namespace sluice::tools
