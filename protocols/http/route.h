#ifndef SLUICE_PROTOCOLS_HTTP_ROUTE_H_
#define SLUICE_PROTOCOLS_HTTP_ROUTE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "protocols/http/authority.h"

namespace sluice::http {

// What two requests must have in common to use one connection: host and port of the target, and the way there, `way`:
// everything else that makes one connection other than the next (the source address, the parents, the identity that TLS
// shows). Empty: straight from the addresses of the service. One service speaks one scheme to its upstreams, and each
// has idle upstreams of its own.
//
// "host:port" or "host:port|way", the host in lower case. Pure. Thread-safe.
std::string RouteOf(const Authority& authority, absl::string_view way);

// Whether `route` leads to this target, whatever the way.
bool LeadsTo(absl::string_view route, const Authority& authority);

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_ROUTE_H_
