#include "sys/net/listen_socket.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sys/base/errno_status.h"
#include "sys/base/root_path.h"

namespace sluice::sys {
namespace {

bool IsUnixPath(const SocketAddress& address) { return address.is_unix() && address.unix_path()[0] == '/'; }

absl::Status ListenError(int error, const SocketAddress& address) {
  absl::Status status = ErrnoStatus(error, absl::StrCat("listen on ", address.ToString()));
  // absl's table has FailedPrecondition for it, too wide for "somebody else has it".
  if (error == EADDRINUSE) return absl::AlreadyExistsError(status.message());
  const char* hint = nullptr;
  if (error == EACCES && address.is_ip()) hint = " (ports below 1024 need root or CAP_NET_BIND_SERVICE)";
  if (error == EADDRNOTAVAIL) hint = " (no interface of this machine has this address)";
  if (error == EAFNOSUPPORT) hint = " (this machine has no such protocol; IPv6 may be turned off)";
  return hint == nullptr ? status : absl::Status(status.code(), absl::StrCat(status.message(), hint));
}

absl::Status InUse(const SocketAddress& address, absl::string_view why) {
  return absl::AlreadyExistsError(absl::StrCat("listen on ", address.ToString(), ": address in use: ", why));
}

void SetOne(int fd, int level, int number, int value) { (void)setsockopt(fd, level, number, &value, sizeof value); }

int DomainOf(const SocketAddress& address) {
  switch (address.family()) {
    case AddressFamily::kIpv4:
      return AF_INET;
    case AddressFamily::kIpv6:
      return AF_INET6;
    case AddressFamily::kUnix:
      return AF_UNIX;
    case AddressFamily::kNone:
      break;
  }
  return AF_UNSPEC;
}

// A socket with everything set that must be set before bind().
absl::StatusOr<UniqueFd> PrepareSocket(const ListenOptions& options, bool for_probe) {
  const SocketAddress& address = options.address;
  if (!address.is_ip() && (!address.is_unix() || address.unix_path().empty())) {
    return absl::InvalidArgumentError("listen: no address given");
  }
  const bool stream = options.kind == SocketKind::kStream;
  UniqueFd fd(socket(DomainOf(address), (stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return ListenError(errno, address);
  if (address.family() == AddressFamily::kIpv6) SetOne(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  // For datagrams SO_REUSEADDR would mean what SO_REUSEPORT means, without asking for the same user.
  if (address.is_ip() && stream) SetOne(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.is_ip() && options.reuse_port && !for_probe) SetOne(fd.get(), SOL_SOCKET, SO_REUSEPORT, 1);
  if (!options.device.empty() && address.is_ip()) {
    if (absl::Status status = BindToDevice(fd.get(), options.device); !status.ok()) return status;
  }
  absl::Status status = ApplySocketOptions(fd.get(), options.options);
  if (!status.ok()) {
    return absl::Status(status.code(), absl::StrCat("listen on ", address.ToString(), ": ", status.message()));
  }
  if (for_probe && address.is_ip()) SetOne(fd.get(), SOL_SOCKET, SO_REUSEPORT, 0);
  return fd;
}

// What bind, connect and file calls are given for an address: the path as it is called inside a chroot.
SocketAddress InRoot(const SocketAddress& address) {
  if (!IsUnixPath(address)) return address;
  absl::StatusOr<SocketAddress> inside = SocketAddress::ParseUnix(PathInRoot(address.unix_path()));
  return inside.ok() ? *inside : address;
}

// 0 or the errno of bind().
int BindWithRetries(int fd, const SocketAddress& address) {
  sockaddr_storage storage;
  const socklen_t length = InRoot(address).ToSockaddr(storage);
  constexpr int kStepMillis = 10;
  for (int waited = 0;; waited += kStepMillis) {
    if (bind(fd, reinterpret_cast<const sockaddr*>(&storage), length) == 0) return 0;
    if (errno != EADDRINUSE || waited >= kBindRetryMillis || IsUnixPath(address)) return errno;
    poll(nullptr, 0, kStepMillis);
  }
}

enum class PathState { kFree, kStale, kInUse };

absl::StatusOr<PathState> LookAtPath(const SocketAddress& address, SocketKind kind) {
  struct stat file;
  if (lstat(PathInRoot(address.unix_path()).c_str(), &file) != 0) {
    if (errno == ENOENT) return PathState::kFree;
    return ListenError(errno, address);
  }
  // connect() says ECONNREFUSED for any file: without this look, a mistyped path would delete somebody's file.
  if (!S_ISSOCK(file.st_mode))
    return InUse(address, "there is a file that is no socket; remove it or choose another path");
  UniqueFd probe(
      socket(AF_UNIX, (kind == SocketKind::kStream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!probe.valid()) return ListenError(errno, address);
  sockaddr_storage storage;
  const socklen_t length = InRoot(address).ToSockaddr(storage);
  const bool refused =
      connect(probe.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0 && errno == ECONNREFUSED;
  return refused ? PathState::kStale : PathState::kInUse;
}

absl::Status MakeRoomForPath(const SocketAddress& address, SocketKind kind) {
  absl::StatusOr<PathState> state = LookAtPath(address, kind);
  if (!state.ok()) return state.status();
  if (*state == PathState::kInUse) return InUse(address, "another process listens there");
  if (*state == PathState::kStale && unlink(PathInRoot(address.unix_path()).c_str()) != 0 && errno != ENOENT) {
    return ListenError(errno, address);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<UniqueFd> OpenListener(const ListenOptions& options) {
  const SocketAddress& address = options.address;
  absl::StatusOr<UniqueFd> fd = PrepareSocket(options, /*for_probe=*/false);
  if (!fd.ok()) return fd;
  const bool has_path = IsUnixPath(address);
  if (has_path) {
    if (absl::Status status = MakeRoomForPath(address, options.kind); !status.ok()) return status;
  }
  if (const int error = BindWithRetries(fd->get(), address); error != 0) return ListenError(error, address);
  if (has_path && chmod(PathInRoot(address.unix_path()).c_str(), options.unix_mode) != 0) {
    const int error = errno;
    RemoveUnixSocket(address);
    return ListenError(error, address);
  }
  if (options.kind == SocketKind::kStream && listen(fd->get(), std::max(options.backlog, 1)) != 0) {
    return ListenError(errno, address);
  }
  return fd;
}

absl::StatusOr<ListenProbe> ProbeListenAddress(const ListenOptions& options) {
  absl::StatusOr<UniqueFd> fd = PrepareSocket(options, /*for_probe=*/true);
  if (!fd.ok()) return fd.status();
  ListenProbe probe;
  probe.address = options.address;
  if (IsUnixPath(options.address)) {
    absl::StatusOr<PathState> state = LookAtPath(options.address, options.kind);
    if (!state.ok()) return state.status();
    if (*state == PathState::kInUse) return InUse(options.address, "another process listens there");
    return probe;
  }
  if (const int error = BindWithRetries(fd->get(), options.address); error != 0) {
    return ListenError(error, options.address);
  }
  if (!options.address.is_ip()) return probe;
  probe.address = SocketAddress::OfSocket(fd->get());
  if (options.kind == SocketKind::kStream) probe.holder = *std::move(fd);
  return probe;
}

void RemoveUnixSocket(const SocketAddress& address) {
  struct stat file;
  if (!address.is_unix() || address.unix_path().empty() || !IsUnixPath(address)) return;
  const std::string path_in_root = PathInRoot(address.unix_path());
  const char* path = path_in_root.c_str();
  if (lstat(path, &file) == 0 && S_ISSOCK(file.st_mode)) unlink(path);
}

ErrnoOr<Accepted> AcceptFrom(int listener_fd) {
  sockaddr_storage storage;
  socklen_t length = sizeof storage;
  int fd;
  do {
    fd = accept4(listener_fd, reinterpret_cast<sockaddr*>(&storage), &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return Errno{errno};
  return Accepted{UniqueFd(fd), SocketAddress::FromSockaddr(reinterpret_cast<const sockaddr*>(&storage), length)};
}

}  // namespace sluice::sys
