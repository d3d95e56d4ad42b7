#ifndef SLUICE_SYS_NET_SOCKET_OPTIONS_H_
#define SLUICE_SYS_NET_SOCKET_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sluice::sys {

// The socket options that an operator can name (socket(7), tcp(7), ip(7)).
enum class SocketOption : uint8_t {
  kTcpNodelay,
  kTcpCork,
  kTcpDeferAccept,
  kTcpQuickack,
  kTcpFastopen,
  kTcpFastopenConnect,
  kTcpMaxseg,
  kSoReuseaddr,
  kSoReuseport,
  kSoKeepalive,
  kSoDontroute,
  kIpTransparent,
};

// "TCP_NODELAY"
const char* SocketOptionName(SocketOption option);

struct SocketOptionValue {
  SocketOption option;
  // What stands after '='. Without it 1 is set, but TCP_MAXSEG, which has no sensible default, is left alone: the
  // caller fills it in from where its value is configured.
  std::optional<int> value;

  friend bool operator==(const SocketOptionValue&, const SocketOptionValue&) = default;
};

struct SocketOptionList {
  std::vector<SocketOptionValue> options;
  // One text for each name that is known and cannot do anything on Linux, fit for a warning: "NAME: why".
  std::vector<std::string> ignored;
};

// "TCP_NODELAY=0,SO_KEEPALIVE". Flags take 0 or 1; TCP_DEFER_ACCEPT (seconds), TCP_FASTOPEN (queue length) and
// TCP_MAXSEG (bytes) any number from 0 on. InvalidArgument names what is wrong and, for an unknown name, all known
// ones. Pure.
absl::StatusOr<SocketOptionList> ParseSocketOptionList(absl::string_view text);

// Sets the options in their order. The error names the option that failed; those before it stay set. Options of TCP and
// IP are passed over on a socket that has none (unix; TCP's on UDP), since one list serves all sockets of a service.
//
// Thread-safe.
absl::Status ApplySocketOptions(int fd, absl::Span<const SocketOptionValue> options);

// Best effort, for sockets of any family: where the option does not exist there is nothing to be set, and a connection
// that is already gone says so at the next read.
void SetNoDelay(int fd, bool on);
void SetKeepAlive(int fd, bool on);
// Urgent bytes stay in the stream, where a relay finds them at their place.
void SetOobInline(int fd);
// The port of an outgoing connection with a given source address is chosen by connect(), not bind(): otherwise 28,000
// connections from one address use up its ports, whatever their destinations (ip(7)).
void SetBindAddressNoPort(int fd);
// bind() takes an address that is none of ours: IP_FREEBIND, IPV6_FREEBIND (ip(7)).
void SetFreeBind(int fd, bool ipv6);
// close() sends RST and forgets what is unsent.
void SetLingerReset(int fd);

// SO_BINDTODEVICE: needs CAP_NET_RAW, or a socket that is not bound yet (Linux 5.7).
absl::Status BindToDevice(int fd, const std::string& device);

// SO_ERROR, which is cleared by asking: a positive errno, 0 when there is none.
int PendingSocketError(int fd);

// Of a TCP socket: bytes that were sent and that the other side's kernel has not acknowledged (SIOCOUTQ); 0 where that
// cannot be known. Counts on after a reset, whose own acknowledgement the kernel does not look at.
uint32_t UnacknowledgedBytes(int fd);

}  // namespace sluice::sys

#endif  // SLUICE_SYS_NET_SOCKET_OPTIONS_H_
