#ifndef SLUICE_SYS_NET_LISTEN_SOCKET_H_
#define SLUICE_SYS_NET_LISTEN_SOCKET_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sys/base/errno_or.h"
#include "sys/base/unique_fd.h"
#include "sys/net/socket_address.h"
#include "sys/net/socket_options.h"

namespace sluice::sys {

enum class SocketKind : uint8_t { kStream, kDatagram };

struct ListenOptions {
  SocketAddress address;
  SocketKind kind = SocketKind::kStream;
  int backlog = 64;  // streams; the kernel caps it at net.core.somaxconn
  // Several sockets of ours on one address, among which the kernel spreads connections. Nothing for unix sockets.
  bool reuse_port = true;
  std::vector<SocketOptionValue> options;  // the operator's, set after our own and before bind()
  std::string device;                      // empty: any
  mode_t unix_mode = 0660;
};

// How it goes, for each address of a configuration: ProbeListenAddress once, OpenListener once a worker, drop the
// probe.

// A socket ready for accept() (a datagram one for recv()): non-blocking, close-on-exec, SO_REUSEADDR for streams, and
// IPV6_V6ONLY, so that 0.0.0.0 and :: can both be listened on and "::" never means IPv4 by accident.
//
// unix paths: a file that is left over from a dead process is removed, which is known by connect() saying ECONNREFUSED;
// anything else there (a living listener, a file that is no socket) is "address in use". The mode is set before
// listen(), so that nobody slips in between. The path is not removed when the descriptor is closed: see
// RemoveUnixSocket.
//
// bind() is tried again for kBindRetryMillis while it says EADDRINUSE.
// Errors: AlreadyExists (in use), PermissionDenied, InvalidArgument, ...: "listen on 0.0.0.0:80: Permission denied
// (why)". Start-up and reload only (may block).
absl::StatusOr<UniqueFd> OpenListener(const ListenOptions& options);

// The sockets of a killed process that had an io_uring are closed by a kernel thread, some time after the process is
// gone: measured under 100 ms.
inline constexpr int kBindRetryMillis = 300;

struct ListenProbe {
  SocketAddress address;  // with the port that the kernel chose, when 0 was asked for
  // Holds the port (streams only) until the listeners are open; being bound with SO_REUSEADDR and never listening, it
  // is not in their way.
  UniqueFd holder;
};

// Whether the address is free: binds it *without* SO_REUSEPORT, which alone tells another process of the same user (it
// would silently get half of the connections) from our own workers. AlreadyExists when it is taken. For port 0, gives
// one port for all workers. Not to be asked where the operator wants to share with other processes, nor for an address
// on which we already listen. Start-up and reload only (may block).
absl::StatusOr<ListenProbe> ProbeListenAddress(const ListenOptions& options);

// Removes the socket file of a unix path; other addresses, and files that are no socket, are left alone.
void RemoveUnixSocket(const SocketAddress& address);

struct Accepted {
  UniqueFd fd;  // non-blocking, close-on-exec
  SocketAddress peer;
};

// accept4(2). EAGAIN: nothing waits. EMFILE, ENFILE, ENOBUFS, ENOMEM: short of something, pause. Anything else (such as
// ECONNABORTED) concerns the one connection, or the network below it: go on with the next (accept(2)).
// Allocates nothing for IP clients. Never blocks on a listener from OpenListener.
ErrnoOr<Accepted> AcceptFrom(int listener_fd);

}  // namespace sluice::sys

#endif  // SLUICE_SYS_NET_LISTEN_SOCKET_H_
