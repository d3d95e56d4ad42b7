#ifndef SLUICE_BENCH_LINK_PACKET_FLOW_H_
#define SLUICE_BENCH_LINK_PACKET_FLOW_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace sluice::bench::link {

// Which connection an IP packet belongs to: a hash of protocol, addresses and, for TCP and UDP, ports (RFC 791, 8200,
// 9293). Fragments, and what has no ports or IPv6 extension headers before them, goes by its addresses alone. What is
// no whole IP packet is of flow 0. Pure.
uint64_t FlowOf(absl::string_view packet);

}  // namespace sluice::bench::link

#endif  // SLUICE_BENCH_LINK_PACKET_FLOW_H_
