#include "relay/testing/peer.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>
#include <system_error>

#include "sys/net/listen_socket.h"
#include "sys/net/socket_options.h"

namespace sluice::relay::testing {
namespace {

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "test rig: %s: %s\n", what, std::strerror(errno));
  std::abort();
}

// A folder for the sockets of this process, gone with it.
struct Folder {
  Folder() {
    char name[] = "/tmp/relayXXXXXX";
    if (mkdtemp(name) == nullptr) Die("mkdtemp");
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string path;
};

std::string FreshUnixPath() {
  static int count = 0;
  static const Folder folder;
  return folder.path + "/" + std::to_string(count++);
}

sys::SocketAddress AddressFor(SocketKind kind) {
  switch (kind) {
    case SocketKind::kIpv4:
      return sys::SocketAddress::Loopback(sys::AddressFamily::kIpv4, 0);
    case SocketKind::kIpv6:
      return sys::SocketAddress::Loopback(sys::AddressFamily::kIpv6, 0);
    case SocketKind::kUnix:
      return *sys::SocketAddress::ParseUnix(FreshUnixPath());
  }
  std::abort();
}

}  // namespace

std::string ToString(SocketKind kind) {
  switch (kind) {
    case SocketKind::kIpv4:
      return "Ipv4";
    case SocketKind::kIpv6:
      return "Ipv6";
    case SocketKind::kUnix:
      return "Unix";
  }
  return "";
}

TestListener Listen(SocketKind kind, int backlog) {
  sys::ListenOptions options;
  options.address = AddressFor(kind);
  options.backlog = backlog;
  options.reuse_port = false;
  absl::StatusOr<sys::UniqueFd> fd = sys::OpenListener(options);
  if (!fd.ok()) Die(fd.status().ToString().c_str());
  TestListener listener;
  listener.fd = *std::move(fd);
  listener.address = kind == SocketKind::kUnix ? options.address : sys::SocketAddress::OfSocket(listener.fd.get());
  return listener;
}

sys::UniqueFd Accept(const TestListener& listener) {
  return sys::UniqueFd(accept4(listener.fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

SocketPair MakeSocketPair(SocketKind kind) {
  SocketPair pair;
  if (kind == SocketKind::kUnix) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) Die("socketpair");
    pair.dialed = sys::UniqueFd(ends[0]);
    pair.accepted = sys::UniqueFd(ends[1]);
    return pair;
  }
  const TestListener listener = Listen(kind);
  sockaddr_storage storage;
  const socklen_t length = listener.address.ToSockaddr(storage);
  pair.dialed = sys::UniqueFd(socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (connect(pair.dialed.get(), reinterpret_cast<sockaddr*>(&storage), length) != 0 && errno != EINPROGRESS) {
    Die("connect");
  }
  pollfd arrival{listener.fd.get(), POLLIN, 0};
  if (poll(&arrival, 1, 20'000) != 1) Die("poll");
  pair.accepted = Accept(listener);
  if (!pair.accepted.valid()) Die("accept4");
  for (const int fd : {pair.dialed.get(), pair.accepted.get()}) {
    sys::SetNoDelay(fd, true);
    sys::SetOobInline(fd);
  }
  return pair;
}

std::string Bytes(uint32_t seed, int64_t count, int64_t from) {
  // A prime, so that no block size of anybody divides it.
  static const std::string pattern = [] {
    std::string bytes(65521, '\0');
    std::mt19937 random(7);
    for (char& byte : bytes) byte = static_cast<char>(random());
    return bytes;
  }();
  std::string bytes;
  bytes.reserve(static_cast<size_t>(count));
  size_t at = (uint64_t{seed} * 7919 + static_cast<uint64_t>(from)) % pattern.size();
  while (bytes.size() < static_cast<size_t>(count)) {
    bytes.append(pattern, at, static_cast<size_t>(count) - bytes.size());
    at = 0;
  }
  return bytes;
}

void Peer::LimitSendBuffer(int bytes) { setsockopt(fd_.get(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes); }
void Peer::LimitReceiveBuffer(int bytes) { setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes); }

void Peer::SendUrgent(char byte) {
  SendSome();
  if (send(fd_.get(), &byte, 1, MSG_OOB | MSG_NOSIGNAL) == 1) ++sent_bytes_;
}

void Peer::Reset() {
  sys::SetLingerReset(fd_.get());
  fd_.reset();
}

void Peer::Work() {
  if (!fd_.valid()) return;
  SendSome();
  if (finish_ && !finished_ && all_sent()) {
    finished_ = true;
    shutdown(fd_.get(), SHUT_WR);
  }
  if (!paused_) Take(std::numeric_limits<int64_t>::max());
}

void Peer::SendSome() {
  while (!all_sent()) {
    const ssize_t n = send(fd_.get(), unsent_.data() + taken_, unsent_.size() - taken_, MSG_NOSIGNAL);
    if (n >= 0) {
      sent_bytes_ += n;
      taken_ += static_cast<size_t>(n);
      continue;
    }
    if (errno == EAGAIN) return;
    // What it still had to say has nowhere to go. What has arrived is still to be read; after a reset, the end that is
    // read then is none.
    if (errno != EPIPE) send_error_ = errno;
    break;
  }
  unsent_.clear();
  taken_ = 0;
}

void Peer::Take(int64_t most_bytes) {
  char buffer[64 * 1024];
  while (!saw_either() && most_bytes > 0) {
    const ssize_t n = recv(fd_.get(), buffer, static_cast<size_t>(std::min<int64_t>(sizeof buffer, most_bytes)), 0);
    if (n > 0) {
      most_bytes -= n;
      received_.append(buffer, static_cast<size_t>(n));
    } else if (n == 0) {
      error_ = send_error_;
      saw_end_ = error_ == 0;
    } else {
      if (errno != EAGAIN) error_ = errno;
      return;
    }
  }
}

}  // namespace sluice::relay::testing
