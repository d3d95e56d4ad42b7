#include "protocols/upstream/proxy_header.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace sluice::upstream {
namespace {

using sys::AddressFamily;
using sys::SocketAddress;

void AppendNumber(uint16_t number, std::string& out) {
  out += static_cast<char>(number >> 8);
  out += static_cast<char>(number & 0xff);
}

void AppendIp(const SocketAddress& address, std::string& out) {
  if (address.family() == AddressFamily::kIpv6) {
    out.append(reinterpret_cast<const char*>(address.ipv6().data()), address.ipv6().size());
    return;
  }
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(address.ipv4() >> shift & 0xff);
}

// No scope: it means something on this machine only.
std::string TextOf(const SocketAddress& address) {
  if (address.family() != AddressFamily::kIpv6) return address.IpText();
  return SocketAddress::Ipv6(address.ipv6(), 0).IpText();
}

}  // namespace

std::string EncodeProxyHeaderV1(const SocketAddress& client, const SocketAddress& local) {
  if (!client.is_ip() || client.family() != local.family()) return "PROXY UNKNOWN\r\n";
  return absl::StrCat("PROXY ", client.family() == AddressFamily::kIpv4 ? "TCP4 " : "TCP6 ", TextOf(client), " ",
                      TextOf(local), " ", client.port(), " ", local.port(), "\r\n");
}

std::string EncodeProxyHeaderV2(const SocketAddress& client, const SocketAddress& local) {
  std::string header("\r\n\r\n\0\r\nQUIT\n", 12);
  if (!client.is_ip() || client.family() != local.family()) {
    header += '\x20';  // version 2, LOCAL
    header += '\0';
    AppendNumber(0, header);
    return header;
  }
  const bool is_ipv4 = client.family() == AddressFamily::kIpv4;
  header += '\x21';                     // version 2, PROXY
  header += is_ipv4 ? '\x11' : '\x21';  // STREAM over the family
  AppendNumber(is_ipv4 ? 12 : 36, header);
  AppendIp(client, header);
  AppendIp(local, header);
  AppendNumber(client.port(), header);
  AppendNumber(local.port(), header);
  return header;
}

}  // namespace sluice::upstream
