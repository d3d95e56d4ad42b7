#ifndef SLUICE_SYS_BLOCKING_CONNECT_H_
#define SLUICE_SYS_BLOCKING_CONNECT_H_

#include "sys/base/errno_or.h"
#include "sys/base/unique_fd.h"
#include "sys/blocking/wait.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::sys {

// connect(2) for threads, with a deadline. The result is 0 or an errno, since callers decide and log by it: ETIMEDOUT
// is the deadline or the kernel's own, ECANCELED the cancellation.
//
// Handshake thread only (may block).

// For a socket on which connect() was called and that is not known to be connected: waits for the outcome. A socket
// that is connected to itself counts as refused: on loopback, the port that nobody listens on can be the one that the
// kernel chose for us.
int AwaitConnected(int fd, MonotonicNanos deadline, const Cancellation* cancellation);

// Connects `fd`, a non-blocking socket that has its options and source address. A unix listener with a full backlog,
// which says EAGAIN instead of letting us wait, is tried again until the deadline.
int ConnectWithDeadline(int fd, const SocketAddress& address, MonotonicNanos deadline,
                        const Cancellation* cancellation);

// The same with a new TCP or unix socket (non-blocking, close-on-exec, TCP_NODELAY) without a source address.
ErrnoOr<UniqueFd> OpenConnection(const SocketAddress& address, MonotonicNanos deadline,
                                 const Cancellation* cancellation);

}  // namespace sluice::sys

#endif  // SLUICE_SYS_BLOCKING_CONNECT_H_
