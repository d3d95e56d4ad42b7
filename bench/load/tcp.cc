#include "bench/load/tcp.h"

#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "bench/load/options.h"

namespace sluice::bench {
namespace {

void SetNoDelay(int fd) {
  int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

int NewSocket() {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) Fail("socket");
  return fd;
}

}  // namespace

const char* PatternAt(uint64_t offset) {
  static const std::string* pattern = [] {
    auto* bytes = new std::string(kPatternBytes + kPatternPeriod, '\0');
    for (size_t i = 0; i < bytes->size(); ++i) (*bytes)[i] = static_cast<char>(i % kPatternPeriod);
    return bytes;
  }();
  return pattern->data() + offset % kPatternPeriod;
}

void PrepareProcess() {
  signal(SIGPIPE, SIG_IGN);
  rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
}

int Listen(const sockaddr_in& address) {
  int fd = NewSocket();
  int one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0) Fail("bind");
  if (listen(fd, 4096) < 0) Fail("listen");
  return fd;
}

int Accept(int listener) {
  while (true) {
    int fd = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      SetNoDelay(fd);
      return fd;
    }
    if (errno == EAGAIN) return -1;
    if (errno != ECONNABORTED && errno != EINTR) Fail("accept");
  }
}

int StartConnect(const sockaddr_in& address) {
  int fd = NewSocket();
  SetNoDelay(fd);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EINPROGRESS) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

int ConnectError(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

int NewEpoll() {
  int fd = epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) Fail("epoll_create1");
  return fd;
}

void Watch(int epoll, int fd, void* data) {
  epoll_event event = {};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = data;
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0) Fail("epoll_ctl");
}

}  // namespace sluice::bench
