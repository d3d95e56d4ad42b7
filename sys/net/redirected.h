#ifndef SLUICE_SYS_NET_REDIRECTED_H_
#define SLUICE_SYS_NET_REDIRECTED_H_

#include <optional>

#include "sys/net/socket_address.h"

namespace sluice::sys {

// Where the client of an accepted TCP connection was going, as the connection tracking of netfilter remembers it
// (SO_ORIGINAL_DST of linux/netfilter_ipv4.h, IP6T_SO_ORIGINAL_DST). Nothing: it does not know the connection, which is
// then not a redirected one. The address that the client did connect to: nobody has redirected it.
//
// Only a connection that was redirected (REDIRECT, DNAT) may be asked about. One that TPROXY has given to us has the
// destination for its own local address, while what the tracking says of it is its own affair: nothing, or that of an
// older connection.
//
// Never blocks. Thread-safe.
std::optional<SocketAddress> RedirectedFrom(int fd);

}  // namespace sluice::sys

#endif  // SLUICE_SYS_NET_REDIRECTED_H_
