#ifndef SLUICE_SYS_LOOP_WATCHABLE_H_
#define SLUICE_SYS_LOOP_WATCHABLE_H_

namespace sluice::sys {

// 0 when epoll(7) would take the descriptor, or what it would answer: -EBADF, -EPERM (a regular file, a directory: they
// are always ready). The ring would say so with a completion, or not at all, so the ring's loop asks here first.
// One fstat(2), about 120 ns, for sockets, pipes and the kernel's anonymous descriptors.
//
// Thread-safe.
int WatchableError(int fd);

}  // namespace sluice::sys

#endif  // SLUICE_SYS_LOOP_WATCHABLE_H_
