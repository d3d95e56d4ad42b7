#include "protocols/dns/watched_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sys/base/unique_fd.h"
#include "sys/thread/clock.h"

namespace sluice::dns {

WatchedFile::Version WatchedFile::Look() const {
  struct stat status {};
  if (path_.empty() || ::stat(path_.c_str(), &status) != 0) return {};
  return {true, status.st_dev, status.st_ino, status.st_size,
          status.st_mtim.tv_sec * sys::kNanosPerSecond + status.st_mtim.tv_nsec};
}

std::optional<std::string> WatchedFile::ReadIfChanged() {
  // Looked at before it is read: a change in between is seen by the next call.
  const Version version = Look();
  if (version_ == version) return std::nullopt;
  version_ = version;
  std::string text;
  if (!version.exists) return text;
  // O_NONBLOCK: somebody may have put a pipe there.
  const sys::UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  constexpr size_t kStep = 64 << 10;
  while (fd.valid() && text.size() < max_bytes_) {
    const size_t before = text.size();
    text.resize(before + std::min(kStep, max_bytes_ - before));
    const ssize_t count = ::read(fd.get(), text.data() + before, text.size() - before);
    text.resize(before + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0 || (count < 0 && errno != EINTR)) break;
  }
  return text;
}

}  // namespace sluice::dns
