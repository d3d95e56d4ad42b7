#include "sys/blocking/connect.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "sys/net/socket_options.h"

namespace sluice::sys {
namespace {

// How often a full unix backlog is looked at again; TCP retransmits its SYN for us.
constexpr int64_t kUnixRetryNanos = 20 * kNanosPerMilli;

bool IsConnectedToItself(int fd) {
  const SocketAddress own = SocketAddress::OfSocket(fd);
  return own.is_ip() && own == SocketAddress::OfPeer(fd);
}

}  // namespace

int AwaitConnected(int fd, MonotonicNanos deadline, const Cancellation* cancellation) {
  if (const int error = WaitUntilReady(fd, Direction::kWrite, deadline, cancellation); error != 0) return error;
  if (const int error = PendingSocketError(fd); error != 0) return error;
  return IsConnectedToItself(fd) ? ECONNREFUSED : 0;
}

int ConnectWithDeadline(int fd, const SocketAddress& address, MonotonicNanos deadline,
                        const Cancellation* cancellation) {
  sockaddr_storage storage;
  const socklen_t length = address.ToSockaddr(storage);
  while (connect(fd, reinterpret_cast<const sockaddr*>(&storage), length) != 0) {
    if (errno == EINPROGRESS || errno == EINTR) break;
    if (errno != EAGAIN || !address.is_unix()) return errno;
    // Descriptor -1: only the time and the cancellation are waited for.
    const MonotonicNanos again_at = Clock::System().Now() + kUnixRetryNanos;
    const int result = WaitUntilReady(-1, Direction::kRead, std::min(again_at, deadline), cancellation);
    if (result != ETIMEDOUT || deadline <= again_at) return result;
  }
  return AwaitConnected(fd, deadline, cancellation);
}

ErrnoOr<UniqueFd> OpenConnection(const SocketAddress& address, MonotonicNanos deadline,
                                 const Cancellation* cancellation) {
  sockaddr_storage storage;
  address.ToSockaddr(storage);
  UniqueFd fd(socket(storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return Errno{errno};
  SetNoDelay(fd.get(), true);
  if (const int error = ConnectWithDeadline(fd.get(), address, deadline, cancellation); error != 0) {
    return Errno{error};
  }
  return fd;
}

}  // namespace sluice::sys
