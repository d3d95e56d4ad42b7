#ifndef SLUICE_PROTOCOLS_UPSTREAM_PROXY_HEADER_H_
#define SLUICE_PROTOCOLS_UPSTREAM_PROXY_HEADER_H_

#include <string>

#include "sys/net/socket_address.h"

namespace sluice::upstream {

// What tells an upstream who the client is, before anything else: haproxy's PROXY protocol, versions 1 (a line of text)
// and 2 (binary). `client` is the client's address, `local` the one at which it came in. Where the two have no common
// family (a unix client), version 1 says UNKNOWN and version 2 LOCAL: the upstream takes the connection as what it is.
//
// Source: https://www.haproxy.org/download/2.8/doc/proxy-protocol.txt, sections 2.1 and 2.2.
//
// Pure. Thread-safe.
std::string EncodeProxyHeaderV1(const sys::SocketAddress& client, const sys::SocketAddress& local);
std::string EncodeProxyHeaderV2(const sys::SocketAddress& client, const sys::SocketAddress& local);

}  // namespace sluice::upstream

#endif  // SLUICE_PROTOCOLS_UPSTREAM_PROXY_HEADER_H_
