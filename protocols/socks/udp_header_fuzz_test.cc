// A datagram of a client. Whatever it is, a header that is accepted lies within it, and what it names can be written
// again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "protocols/socks/udp_header.h"

namespace sluice::socks {
namespace {

void Check(bool good) {
  if (!good) std::abort();
}

void CheckHeader(absl::string_view datagram) {
  const UdpHeader header = ParseUdpHeader(datagram);
  if (header.kind != UdpHeader::Kind::kAddress && header.kind != UdpHeader::Kind::kName) return;
  Check(header.bytes <= datagram.size() && header.bytes <= kMostUdpHeaderBytes && header.port != 0);
  Check(datagram[2] == 0);
  if (header.kind == UdpHeader::Kind::kName) {
    Check(!header.name.empty() && header.name.size() <= 255);
    Check(header.name.data() > datagram.data() &&
          header.name.data() + header.name.size() < datagram.data() + header.bytes);
    return;
  }
  Check(header.address.is_ip() && !header.address.is_any() && header.address.port() == header.port);
  char out[kMostAddressHeaderBytes];
  const size_t size = WriteUdpHeader(header.address, out);
  Check(size <= kMostAddressHeaderBytes);
  const UdpHeader again = ParseUdpHeader(absl::string_view(out, size));
  Check(again.kind == UdpHeader::Kind::kAddress && again.address == header.address && again.bytes == size);
}

}  // namespace
}  // namespace sluice::socks

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sluice::socks::CheckHeader(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
