#include "sys/loop/watchable.h"

#include <sys/epoll.h>
#include <sys/stat.h>

#include <cerrno>

#include "sys/base/unique_fd.h"

namespace sluice::sys {

int WatchableError(int fd) {
  struct stat status;
  if (::fstat(fd, &status) != 0) return -errno;
  const mode_t type = status.st_mode & S_IFMT;
  if (type == S_IFSOCK || type == S_IFIFO || type == 0) return 0;  // 0: eventfd, signalfd and their kin
  if (type != S_IFCHR) return -EPERM;
  // A terminal or /dev/null: depends on the driver, so let epoll tell.
  const UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  if (!epoll.valid() || ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0) return -errno;
  return 0;
}

}  // namespace sluice::sys
