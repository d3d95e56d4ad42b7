#ifndef SLUICE_SYS_NET_SOCKET_ADDRESS_H_
#define SLUICE_SYS_NET_SOCKET_ADDRESS_H_

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice::sys {

enum class AddressFamily : uint8_t { kNone, kIpv4, kIpv6, kUnix };

// Where a socket is bound or connected: IPv4, IPv6, a unix path or an abstract unix name. A value type of 32 bytes (a
// unix path lives on the heap), since every session keeps two or three of them.
//
// IPv4-mapped IPv6 addresses (::ffff:a.b.c.d) are turned into IPv4 by every constructor from outside, so that one
// client has one spelling in rules and logs.
//
// Thread-compatible.
class SocketAddress {
 public:
  SocketAddress() = default;  // kNone
  SocketAddress(const SocketAddress& other);
  SocketAddress& operator=(const SocketAddress& other);
  SocketAddress(SocketAddress&&) noexcept = default;
  SocketAddress& operator=(SocketAddress&&) noexcept = default;

  static SocketAddress Ipv4(uint32_t host_order, uint16_t port);
  static SocketAddress Ipv6(const std::array<uint8_t, 16>& bytes, uint16_t port, uint32_t scope_id = 0);
  static SocketAddress Any(AddressFamily family, uint16_t port);
  static SocketAddress Loopback(AddressFamily family, uint16_t port);

  // A numeric IPv4 or IPv6 address without a port: "127.0.0.1", "::1", "[::1]", "fe80::1%eth0". Names, and the short
  // and octal forms of inet_aton ("127.1", "010.0.0.1"), are InvalidArgument.
  static absl::StatusOr<SocketAddress> ParseIp(absl::string_view text, uint16_t port);
  // "/path" (at most 107 bytes) or "@name" (abstract; at most 107 bytes, no NUL).
  static absl::StatusOr<SocketAddress> ParseUnix(absl::string_view path);

  // From the kernel. An unnamed unix socket becomes an empty path; any other family kNone.
  static SocketAddress FromSockaddr(const sockaddr* address, socklen_t length);
  // getsockname / getpeername; kNone when the call fails.
  static SocketAddress OfSocket(int fd);
  static SocketAddress OfPeer(int fd);

  AddressFamily family() const { return family_; }
  bool is_ip() const { return family_ == AddressFamily::kIpv4 || family_ == AddressFamily::kIpv6; }
  bool is_unix() const { return family_ == AddressFamily::kUnix; }
  // 0 for unix.
  uint16_t port() const { return port_; }
  void set_port(uint16_t port) { port_ = port; }
  // 0.0.0.0 or ::
  bool is_any() const;
  // 127.0.0.0/8 or ::1.
  bool is_loopback() const;
  // Host order. REQUIRES: kIpv4.
  uint32_t ipv4() const;
  // REQUIRES: kIpv6.
  const std::array<uint8_t, 16>& ipv6() const { return bytes_; }
  uint32_t scope_id() const { return scope_id_; }
  // "/path" or "@name". REQUIRES: kUnix.
  const std::string& unix_path() const;

  // Fills `storage`; returns the length for bind() and connect(). kNone gives AF_UNSPEC, which bind() refuses.
  socklen_t ToSockaddr(sockaddr_storage& storage) const;

  // "127.0.0.1", "::1", "fe80::1%2", "unix:/path", "unix:@name"; "0.0.0.0" for kNone (what 3proxy logs for "no
  // address"). Control bytes of a unix name, which a local client chooses, come out as '?', so that the text is safe in
  // a log line.
  std::string IpText() const;
  // "127.0.0.1:80", "[::1]:80", "unix:/path".
  std::string ToString() const;

  friend bool operator==(const SocketAddress& a, const SocketAddress& b);
  friend bool operator<(const SocketAddress& a, const SocketAddress& b);
  template <typename H>
  friend H AbslHashValue(H h, const SocketAddress& a) {
    return H::combine(std::move(h), a.family_, a.port_, a.bytes_, a.scope_id_, a.path_ ? *a.path_ : std::string());
  }

 private:
  AddressFamily family_ = AddressFamily::kNone;
  uint16_t port_ = 0;
  uint32_t scope_id_ = 0;
  std::array<uint8_t, 16> bytes_{};  // IPv4 in the first four, network order
  std::unique_ptr<std::string> path_;
};

}  // namespace sluice::sys

#endif  // SLUICE_SYS_NET_SOCKET_ADDRESS_H_
