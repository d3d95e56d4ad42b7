#include "relay/datagram/udp_socket.h"

#include <sys/socket.h>

#include <cerrno>
#include <optional>

#include "relay/datagram/receive_batch.h"
#include "sys/net/socket_options.h"

namespace sluice::relay {
namespace {

void SetBuffers(int fd) {
  const int bytes = kDatagramBufferBytes;
  if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0) {
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  }
  if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) != 0) {
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  }
}

sys::ErrnoOr<sys::UniqueFd> Create(sys::AddressFamily family) {
  const int domain = family == sys::AddressFamily::kIpv6 ? AF_INET6 : AF_INET;
  sys::UniqueFd fd(socket(domain, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return sys::Errno{errno};
  if (domain == AF_INET6) {
    const int on = 1;
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  }
  PrepareUdpSocket(fd.get());
  return fd;
}

int Bind(int fd, const sys::SocketAddress& address) {
  sockaddr_storage storage;
  const socklen_t length = address.ToSockaddr(storage);
  return bind(fd, reinterpret_cast<const sockaddr*>(&storage), length) == 0 ? 0 : errno;
}

}  // namespace

void PrepareUdpSocket(int fd) {
  SetBuffers(fd);
  ReceiveBatch::EnableGro(fd);
}

sys::ErrnoOr<sys::UniqueFd> OpenUdpSocket(const sys::SocketAddress& address) {
  if (!address.is_ip()) return sys::Errno{EAFNOSUPPORT};
  sys::ErrnoOr<sys::UniqueFd> fd = Create(address.family());
  if (!fd.ok()) return fd;
  if (const int error = Bind(fd->get(), address); error != 0) return sys::Errno{error};
  return fd;
}

sys::ErrnoOr<sys::UniqueFd> OpenOutgoingUdpSocket(sys::AddressFamily family, const OutgoingOptions* outgoing) {
  sys::ErrnoOr<sys::UniqueFd> fd = Create(family);
  if (!fd.ok()) return fd;
  std::optional<sys::SocketAddress> source;
  if (outgoing != nullptr) {
    if (!outgoing->device.empty() && !sys::BindToDevice(fd->get(), outgoing->device).ok()) return sys::Errno{EPERM};
    sys::ApplySocketOptions(fd->get(), outgoing->socket_options).IgnoreError();
    source = family == sys::AddressFamily::kIpv4 ? outgoing->source_ipv4 : outgoing->source_ipv6;
  }
  // Bound even without a source: a socket without a port cannot be read from, and its port must not change.
  const sys::SocketAddress address = source.value_or(sys::SocketAddress::Any(family, 0));
  if (const int error = Bind(fd->get(), address); error != 0) return sys::Errno{error};
  return fd;
}

}  // namespace sluice::relay
