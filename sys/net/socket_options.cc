#include "sys/net/socket_options.h"

#include <linux/if.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sys/base/errno_status.h"

namespace sluice::sys {
namespace {

struct Known {
  SocketOption option;
  const char* name;
  int level;
  int number;
  bool is_flag;
};

// In the order of the enum.
constexpr Known kKnown[] = {
    {SocketOption::kTcpNodelay, "TCP_NODELAY", IPPROTO_TCP, TCP_NODELAY, true},
    {SocketOption::kTcpCork, "TCP_CORK", IPPROTO_TCP, TCP_CORK, true},
    {SocketOption::kTcpDeferAccept, "TCP_DEFER_ACCEPT", IPPROTO_TCP, TCP_DEFER_ACCEPT, false},
    {SocketOption::kTcpQuickack, "TCP_QUICKACK", IPPROTO_TCP, TCP_QUICKACK, true},
    {SocketOption::kTcpFastopen, "TCP_FASTOPEN", IPPROTO_TCP, TCP_FASTOPEN, false},
    {SocketOption::kTcpFastopenConnect, "TCP_FASTOPEN_CONNECT", IPPROTO_TCP, TCP_FASTOPEN_CONNECT, true},
    {SocketOption::kTcpMaxseg, "TCP_MAXSEG", IPPROTO_TCP, TCP_MAXSEG, false},
    {SocketOption::kSoReuseaddr, "SO_REUSEADDR", SOL_SOCKET, SO_REUSEADDR, true},
    {SocketOption::kSoReuseport, "SO_REUSEPORT", SOL_SOCKET, SO_REUSEPORT, true},
    {SocketOption::kSoKeepalive, "SO_KEEPALIVE", SOL_SOCKET, SO_KEEPALIVE, true},
    {SocketOption::kSoDontroute, "SO_DONTROUTE", SOL_SOCKET, SO_DONTROUTE, true},
    {SocketOption::kIpTransparent, "IP_TRANSPARENT", IPPROTO_IP, IP_TRANSPARENT, true},
};

struct Ignored {
  absl::string_view name;
  const char* reason;
};

constexpr Ignored kIgnored[] = {
    // TCP_TIMESTAMP of tcp(7) sets the clock of a socket in repair mode, not whether timestamps are sent.
    {"TCP_TIMESTAMPS", "Linux has no such option for one socket, ignored; the sysctl net.ipv4.tcp_timestamps sets it"},
    {"SO_EXCLUSIVEADDRUSE", "Windows only, ignored on Linux"},
    {"SO_PORT_SCALABILITY", "Windows only, ignored on Linux"},
    {"SO_REUSE_UNICASTPORT", "Windows only, ignored on Linux"},
};

const Known* FindKnown(absl::string_view name) {
  for (const Known& known : kKnown) {
    if (name == known.name) return &known;
  }
  return nullptr;
}

const Ignored* FindIgnored(absl::string_view name) {
  for (const Ignored& ignored : kIgnored) {
    if (name == ignored.name) return &ignored;
  }
  return nullptr;
}

absl::Status UnknownName(absl::string_view name) {
  std::string text = absl::StrCat("unknown socket option \"", name, "\"; known are");
  for (const Known& known : kKnown) absl::StrAppend(&text, " ", known.name);
  return absl::InvalidArgumentError(text);
}

absl::StatusOr<int> ParseValue(const Known& known, absl::string_view text) {
  int value = 0;
  const bool is_number = absl::SimpleAtoi(text, &value) && value >= 0;
  if (is_number && (!known.is_flag || value <= 1)) return value;
  return absl::InvalidArgumentError(absl::StrCat("socket option ", known.name, "=", text, ": expected ",
                                                 known.is_flag ? "0 or 1" : "a number from 0 on"));
}

int Get(int fd, int number) {
  int value = -1;
  socklen_t length = sizeof value;
  return getsockopt(fd, SOL_SOCKET, number, &value, &length) == 0 ? value : -1;
}

void SetFlag(int fd, int level, int number, int value) { (void)setsockopt(fd, level, number, &value, sizeof value); }

}  // namespace

const char* SocketOptionName(SocketOption option) {
  static_assert(std::size(kKnown) == static_cast<size_t>(SocketOption::kIpTransparent) + 1);
  return kKnown[static_cast<size_t>(option)].name;
}

absl::StatusOr<SocketOptionList> ParseSocketOptionList(absl::string_view text) {
  SocketOptionList list;
  for (absl::string_view item : absl::StrSplit(text, ',')) {
    const size_t equals = item.find('=');
    const absl::string_view name = item.substr(0, equals);
    if (const Ignored* ignored = FindIgnored(name)) {
      list.ignored.push_back(absl::StrCat(ignored->name, ": ", ignored->reason));
      continue;
    }
    const Known* known = FindKnown(name);
    if (known == nullptr) return UnknownName(name);
    SocketOptionValue option = {known->option, std::nullopt};
    if (equals != absl::string_view::npos) {
      absl::StatusOr<int> value = ParseValue(*known, item.substr(equals + 1));
      if (!value.ok()) return value.status();
      option.value = *value;
    }
    list.options.push_back(option);
  }
  return list;
}

absl::Status ApplySocketOptions(int fd, absl::Span<const SocketOptionValue> options) {
  if (options.empty()) return absl::OkStatus();
  const int domain = Get(fd, SO_DOMAIN);
  const bool is_ip = domain == AF_INET || domain == AF_INET6;
  const bool is_tcp = is_ip && Get(fd, SO_TYPE) == SOCK_STREAM;
  for (const SocketOptionValue& option : options) {
    const Known& known = kKnown[static_cast<size_t>(option.option)];
    if ((known.level == IPPROTO_TCP && !is_tcp) || (known.level == IPPROTO_IP && !is_ip)) continue;
    // Unix sockets have no ports, and newer kernels refuse this one.
    if (option.option == SocketOption::kSoReuseport && !is_ip) continue;
    if (option.option == SocketOption::kTcpMaxseg && !option.value.has_value()) continue;
    int level = known.level, number = known.number;
    if (option.option == SocketOption::kIpTransparent && domain == AF_INET6) {
      level = IPPROTO_IPV6;
      number = IPV6_TRANSPARENT;
    }
    const int value = option.value.value_or(1);
    if (setsockopt(fd, level, number, &value, sizeof value) != 0) {
      return ErrnoStatus(errno, absl::StrCat("socket option ", known.name, "=", value));
    }
  }
  return absl::OkStatus();
}

void SetNoDelay(int fd, bool on) { SetFlag(fd, IPPROTO_TCP, TCP_NODELAY, on); }
void SetKeepAlive(int fd, bool on) { SetFlag(fd, SOL_SOCKET, SO_KEEPALIVE, on); }
void SetOobInline(int fd) { SetFlag(fd, SOL_SOCKET, SO_OOBINLINE, 1); }
// The IPv4 level serves IPv6 sockets as well.
void SetBindAddressNoPort(int fd) { SetFlag(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1); }

void SetFreeBind(int fd, bool ipv6) {
  if (ipv6) {
    SetFlag(fd, IPPROTO_IPV6, IPV6_FREEBIND, 1);
  } else {
    SetFlag(fd, IPPROTO_IP, IP_FREEBIND, 1);
  }
}

void SetLingerReset(int fd) {
  const linger reset = {1, 0};
  (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
}

absl::Status BindToDevice(int fd, const std::string& device) {
  if (device.empty() || device.size() >= IFNAMSIZ) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", device, "\" is not a network interface: a name has 1 to ", IFNAMSIZ - 1, " characters"));
  }
  if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device.data(), static_cast<socklen_t>(device.size())) == 0) {
    return absl::OkStatus();
  }
  return ErrnoStatus(errno, absl::StrCat("bind to network interface ", device));
}

int PendingSocketError(int fd) {
  int error = 0;
  socklen_t length = sizeof error;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

uint32_t UnacknowledgedBytes(int fd) {
  int bytes = 0;
  return ioctl(fd, SIOCOUTQ, &bytes) == 0 ? static_cast<uint32_t>(bytes) : 0;
}

}  // namespace sluice::sys
