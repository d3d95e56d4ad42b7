#include "relay/connecting.h"

#include <sys/socket.h>

#include <cerrno>

#include "sys/net/socket_options.h"

namespace sluice::relay {
namespace {

int DomainOf(const sys::SocketAddress& address) {
  switch (address.family()) {
    case sys::AddressFamily::kIpv4:
      return AF_INET;
    case sys::AddressFamily::kIpv6:
      return AF_INET6;
    case sys::AddressFamily::kUnix:
      return AF_UNIX;
    case sys::AddressFamily::kNone:
      break;
  }
  return AF_UNSPEC;
}

// 0 or an errno.
int Bind(int fd, const sys::SocketAddress& source) {
  sys::SetBindAddressNoPort(fd);
  sockaddr_storage storage;
  const socklen_t length = source.ToSockaddr(storage);
  return bind(fd, reinterpret_cast<const sockaddr*>(&storage), length) == 0 ? 0 : errno;
}

// 0 or an errno.
int Prepare(int fd, const sys::SocketAddress& address, const OutgoingOptions* outgoing) {
  if (!address.is_ip()) return 0;
  sys::SetNoDelay(fd, true);
  sys::SetOobInline(fd);
  if (outgoing == nullptr) return 0;
  // An option that the kernel refuses is told at load (and by the counters); the connection is still worth having,
  // except where the packet would leave by another way than the operator said.
  if (!outgoing->device.empty() && !sys::BindToDevice(fd, outgoing->device).ok()) return EPERM;
  sys::ApplySocketOptions(fd, outgoing->socket_options).IgnoreError();
  const auto& source = address.family() == sys::AddressFamily::kIpv4 ? outgoing->source_ipv4 : outgoing->source_ipv6;
  if (!source.has_value()) return 0;
  if (outgoing->free_bind) sys::SetFreeBind(fd, source->family() == sys::AddressFamily::kIpv6);
  return Bind(fd, *source);
}

}  // namespace

sys::ErrnoOr<sys::UniqueFd> StartConnect(const sys::SocketAddress& address, const OutgoingOptions* outgoing) {
  const int domain = DomainOf(address);
  if (domain == AF_UNSPEC) return sys::Errno{EAFNOSUPPORT};
  sys::UniqueFd fd(socket(domain, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return sys::Errno{errno};
  if (const int error = Prepare(fd.get(), address, outgoing); error != 0) return sys::Errno{error};
  sockaddr_storage storage;
  const socklen_t length = address.ToSockaddr(storage);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0 && errno != EINPROGRESS) {
    return sys::Errno{errno};
  }
  return fd;
}

int ConnectOutcome(int fd, const sys::SocketAddress& address, bool failure_reported) {
  if (failure_reported) {
    if (const int error = sys::PendingSocketError(fd); error != 0) return error;
  }
  if (address.is_ip() && address.is_loopback() && sys::SocketAddress::OfSocket(fd) == address) return ECONNREFUSED;
  return 0;
}

}  // namespace sluice::relay
