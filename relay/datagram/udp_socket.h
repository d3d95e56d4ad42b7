#ifndef SLUICE_RELAY_DATAGRAM_UDP_SOCKET_H_
#define SLUICE_RELAY_DATAGRAM_UDP_SOCKET_H_

#include "relay/handoff.h"
#include "sys/base/errno_or.h"
#include "sys/base/unique_fd.h"
#include "sys/net/socket_address.h"

namespace sluice::relay {

// Bytes asked for as a socket's buffers: at 100,000 datagrams of 1,350 bytes a second, a pause of 20 ms. The kernel
// gives what net.core.rmem_max and wmem_max allow (more only to CAP_NET_ADMIN).
inline constexpr int kDatagramBufferBytes = 4 * 1024 * 1024;

// A UDP socket bound to `address`: non-blocking, joined datagrams (UDP_GRO), large buffers. Never blocks.
sys::ErrnoOr<sys::UniqueFd> OpenUdpSocket(const sys::SocketAddress& address);

// Gives a UDP socket that somebody else has opened what those of OpenUdpSocket() have.
void PrepareUdpSocket(int fd);

// One towards destinations of this family, with the service's source address, device and options.
sys::ErrnoOr<sys::UniqueFd> OpenOutgoingUdpSocket(sys::AddressFamily family, const OutgoingOptions* outgoing);

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_DATAGRAM_UDP_SOCKET_H_
