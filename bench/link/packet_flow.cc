#include "bench/link/packet_flow.h"

#include <netinet/in.h>

#include <tuple>

#include "absl/hash/hash.h"

namespace sluice::bench::link {
namespace {

constexpr size_t kPortsBytes = 4;

uint64_t Hash(uint8_t protocol, absl::string_view addresses, absl::string_view transport) {
  const bool has_ports = (protocol == IPPROTO_TCP || protocol == IPPROTO_UDP) && transport.size() >= kPortsBytes;
  // 0 is for what is no packet.
  return absl::HashOf(protocol, addresses, has_ports ? transport.substr(0, kPortsBytes) : "") | 1;
}

uint64_t FlowOf4(absl::string_view packet) {
  constexpr size_t kLeastHeader = 20;
  if (packet.size() < kLeastHeader) return 0;
  const size_t header_bytes = static_cast<size_t>(packet[0] & 0xf) * 4;
  if (header_bytes < kLeastHeader || packet.size() < header_bytes) return 0;
  const bool fragment = (packet[6] & 0x3f) != 0 || packet[7] != 0;  // more fragments, or an offset
  return Hash(static_cast<uint8_t>(packet[9]), packet.substr(12, 8),
              fragment ? absl::string_view() : packet.substr(header_bytes));
}

uint64_t FlowOf6(absl::string_view packet) {
  constexpr size_t kHeader = 40;
  if (packet.size() < kHeader) return 0;
  return Hash(static_cast<uint8_t>(packet[6]), packet.substr(8, 32), packet.substr(kHeader));
}

}  // namespace

uint64_t FlowOf(absl::string_view packet) {
  if (packet.empty()) return 0;
  switch (static_cast<uint8_t>(packet[0]) >> 4) {
    case 4:
      return FlowOf4(packet);
    case 6:
      return FlowOf6(packet);
    default:
      return 0;
  }
}

}  // namespace sluice::bench::link
