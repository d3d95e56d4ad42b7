#ifndef SLUICE_PROTOCOLS_UPSTREAM_DEPTH_H_
#define SLUICE_PROTOCOLS_UPSTREAM_DEPTH_H_

#include <cstdint>

namespace sluice::upstream {

// How a ring of proxies ends, each of which has the next one for a parent: a request carries how many of our kind it
// has passed, and nobody passes one on that has passed kMostDepth.
//
// SOCKS 5 says it as a method of the greeting: RFC 1928 section 3 leaves 80 to FE to private use, and a proxy that does
// not know E0 + n passes it over, as we do, who never choose it. HTTP has Via for it. SOCKS 4 has no room: such rings
// end at `maxconn`.
//
// Constants only; thread-safe.
constexpr int kMostDepth = 16;
constexpr uint8_t kDepthMethod = 0xe0;

}  // namespace sluice::upstream

#endif  // SLUICE_PROTOCOLS_UPSTREAM_DEPTH_H_
