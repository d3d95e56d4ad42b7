#ifndef SLUICE_PROTOCOLS_SERVICE_ORIGINAL_DESTINATION_H_
#define SLUICE_PROTOCOLS_SERVICE_ORIGINAL_DESTINATION_H_

#include <cstdint>
#include <optional>

#include "sys/net/socket_address.h"

namespace sluice::service {

// `-T`: where a client was going when a rule of this machine's firewall turned its connection to us. Nothing: it came
// to us of its own accord, and names nobody by that; whoever connected it with where it came would connect it with us.
//
//   TPROXY            the socket's own address is the destination
//   REDIRECT, DNAT    the socket's own address is ours; connection tracking knows the destination
//   directly          the socket's own address is ours, and so is the destination
//
// `port` is the one that the service listens on.
//
// Thread-safe. Asks for this machine's addresses, which takes some 20 us, only where a connection was not redirected
// and has our port.
std::optional<sys::SocketAddress> OriginalDestination(int client, uint16_t port);

// The pure part. `tracked`: what connection tracking says; `local_is_ours`: whether the local address is one of this
// machine, asked only where it matters.
template <typename IsOurs>
std::optional<sys::SocketAddress> ChooseDestination(const sys::SocketAddress& local,
                                                    const std::optional<sys::SocketAddress>& tracked, uint16_t port,
                                                    IsOurs is_ours) {
  if (!local.is_ip()) return std::nullopt;
  // We do not listen on that port: TPROXY.
  if (local.port() != port) return local;
  if (tracked.has_value() && !(*tracked == local)) return tracked;
  if (is_ours(local)) return std::nullopt;
  return local;
}

}  // namespace sluice::service

#endif  // SLUICE_PROTOCOLS_SERVICE_ORIGINAL_DESTINATION_H_
