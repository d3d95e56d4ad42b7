#include "bench/floor/floor_loop.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

namespace sluice::bench {
namespace {

[[noreturn]] void Fail(const char* what) {
  fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
  exit(1);
}

[[noreturn]] void Usage(const char* program, const char* wrong) {
  fprintf(stderr, "%s: %s\nusage: %s LISTEN_PORT ORIGIN_IP ORIGIN_PORT [LISTEN_IP]\n", program, wrong, program);
  exit(2);
}

bool ParsePort(const char* text, sockaddr_in& address) {
  char* end;
  unsigned long port = strtoul(text, &end, 10);
  if (*text == '\0' || *end != '\0' || port == 0 || port > 65535) return false;
  address.sin_port = htons(static_cast<uint16_t>(port));
  return true;
}

void SetNoDelay(int fd) {
  int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

}  // namespace

FloorOptions StartFloor(int argc, char** argv) {
  FloorOptions options = {};
  options.listen.sin_family = options.origin.sin_family = AF_INET;
  options.listen.sin_addr.s_addr = htonl(INADDR_ANY);
  if (argc < 4 || argc > 5) Usage(argv[0], "three or four arguments are needed");
  if (!ParsePort(argv[1], options.listen)) Usage(argv[0], "LISTEN_PORT is not a port");
  if (inet_pton(AF_INET, argv[2], &options.origin.sin_addr) != 1) Usage(argv[0], "ORIGIN_IP is not an IPv4 address");
  if (!ParsePort(argv[3], options.origin)) Usage(argv[0], "ORIGIN_PORT is not a port");
  if (argc == 5 && inet_pton(AF_INET, argv[4], &options.listen.sin_addr) != 1) {
    Usage(argv[0], "LISTEN_IP is not an IPv4 address");
  }
  signal(SIGPIPE, SIG_IGN);
  rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  return options;
}

int ListenAt(int epoll, const sockaddr_in& address) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) Fail("socket");
  int one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0) Fail("bind");
  if (listen(fd, 4096) < 0) Fail("listen");
  epoll_event event = {};
  event.events = EPOLLIN;
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0) Fail("epoll_ctl");
  return fd;
}

int AcceptNext(int listener) {
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
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) Fail("socket");
  SetNoDelay(fd);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EINPROGRESS) return fd;
  close(fd);
  return -1;
}

void Watch(int epoll, int fd, void* data) {
  epoll_event event = {};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = data;
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0) Fail("epoll_ctl");
}

}  // namespace sluice::bench
