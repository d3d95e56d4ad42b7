#include "sys/net/socket_address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <sys/un.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace sluice::sys {
namespace {

// sun_path has 108 bytes: a path needs its NUL, an abstract name its leading one.
constexpr size_t kLongestUnixName = sizeof(sockaddr_un::sun_path) - 1;

bool IsMapped(const std::array<uint8_t, 16>& bytes) {
  static constexpr uint8_t kPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(bytes.data(), kPrefix, sizeof kPrefix) == 0;
}

absl::Status NotAnAddress(absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is not a numeric address: expected four decimal numbers as in 127.0.0.1, or IPv6 as in ::1"));
}

// "eth0" or "2" -> interface index; 0 when there is no such interface.
uint32_t ScopeIndex(const std::string& text) {
  uint32_t index = 0;
  if (absl::SimpleAtoi(text, &index)) return index;
  return if_nametoindex(text.c_str());
}

const std::string& EmptyPath() {
  static const std::string& empty = *new std::string;
  return empty;
}

std::string ForLog(absl::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return out;
}

}  // namespace

SocketAddress::SocketAddress(const SocketAddress& other)
    : family_(other.family_),
      port_(other.port_),
      scope_id_(other.scope_id_),
      bytes_(other.bytes_),
      path_(other.path_ ? std::make_unique<std::string>(*other.path_) : nullptr) {}

SocketAddress& SocketAddress::operator=(const SocketAddress& other) {
  if (this != &other) *this = SocketAddress(other);
  return *this;
}

SocketAddress SocketAddress::Ipv4(uint32_t host_order, uint16_t port) {
  SocketAddress address;
  address.family_ = AddressFamily::kIpv4;
  address.port_ = port;
  const uint32_t network_order = htonl(host_order);
  std::memcpy(address.bytes_.data(), &network_order, sizeof network_order);
  return address;
}

SocketAddress SocketAddress::Ipv6(const std::array<uint8_t, 16>& bytes, uint16_t port, uint32_t scope_id) {
  SocketAddress address;
  address.port_ = port;
  if (IsMapped(bytes)) {
    address.family_ = AddressFamily::kIpv4;
    std::copy_n(bytes.begin() + 12, 4, address.bytes_.begin());
  } else {
    address.family_ = AddressFamily::kIpv6;
    address.bytes_ = bytes;
    address.scope_id_ = scope_id;
  }
  return address;
}

SocketAddress SocketAddress::Any(AddressFamily family, uint16_t port) {
  return family == AddressFamily::kIpv6 ? Ipv6({}, port) : Ipv4(INADDR_ANY, port);
}

SocketAddress SocketAddress::Loopback(AddressFamily family, uint16_t port) {
  if (family != AddressFamily::kIpv6) return Ipv4(INADDR_LOOPBACK, port);
  std::array<uint8_t, 16> bytes{};
  bytes[15] = 1;
  return Ipv6(bytes, port);
}

absl::StatusOr<SocketAddress> SocketAddress::ParseIp(absl::string_view text, uint16_t port) {
  // The longest form is a mapped address with an interface name; more is not copied, and not repeated in an error.
  constexpr size_t kLongest = INET6_ADDRSTRLEN + IF_NAMESIZE + 2;
  if (text.size() > kLongest) return NotAnAddress(absl::StrCat(text.substr(0, kLongest), "..."));
  absl::string_view bare = text;
  const bool bracketed = absl::ConsumePrefix(&bare, "[");
  if (bracketed && !absl::ConsumeSuffix(&bare, "]")) return NotAnAddress(text);
  std::string host(bare);
  if (host.find('\0') != std::string::npos) return NotAnAddress(ForLog(text));

  in_addr v4;
  // inet_pton, unlike inet_aton, refuses short, octal and hexadecimal forms, which programs read differently.
  if (!bracketed && inet_pton(AF_INET, host.c_str(), &v4) == 1) return Ipv4(ntohl(v4.s_addr), port);

  uint32_t scope_id = 0;
  if (const size_t percent = host.find('%'); percent != std::string::npos) {
    const std::string scope = host.substr(percent + 1);
    scope_id = ScopeIndex(scope);
    if (scope_id == 0) {
      return absl::InvalidArgumentError(absl::StrCat("\"", text, "\": there is no network interface \"", scope, "\""));
    }
    host.resize(percent);
  }
  std::array<uint8_t, 16> v6;
  if (inet_pton(AF_INET6, host.c_str(), v6.data()) != 1) return NotAnAddress(text);
  return Ipv6(v6, port, scope_id);
}

absl::StatusOr<SocketAddress> SocketAddress::ParseUnix(absl::string_view path) {
  if (path.empty() || (path[0] != '/' && path[0] != '@') || path == "@" || path == "/") {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", path, "\" is not a unix socket: expected an absolute path or @ and an abstract name"));
  }
  if (path.find('\0') != absl::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat("unix socket \"", ForLog(path), "\" has a NUL byte in its name"));
  }
  const size_t length = path[0] == '@' ? path.size() - 1 : path.size();
  if (length > kLongestUnixName) {
    return absl::InvalidArgumentError(absl::StrCat("unix socket name of ", length, " bytes is too long, at most ",
                                                   kLongestUnixName, " are possible: ", path));
  }
  SocketAddress address;
  address.family_ = AddressFamily::kUnix;
  address.path_ = std::make_unique<std::string>(path);
  return address;
}

SocketAddress SocketAddress::FromSockaddr(const sockaddr* address, socklen_t length) {
  if (address == nullptr || length < sizeof(sa_family_t)) return {};
  if (address->sa_family == AF_INET && length >= sizeof(sockaddr_in)) {
    sockaddr_in in;
    std::memcpy(&in, address, sizeof in);
    return Ipv4(ntohl(in.sin_addr.s_addr), ntohs(in.sin_port));
  }
  if (address->sa_family == AF_INET6 && length >= sizeof(sockaddr_in6)) {
    sockaddr_in6 in6;
    std::memcpy(&in6, address, sizeof in6);
    std::array<uint8_t, 16> bytes;
    std::memcpy(bytes.data(), &in6.sin6_addr, bytes.size());
    return Ipv6(bytes, ntohs(in6.sin6_port), in6.sin6_scope_id);
  }
  if (address->sa_family != AF_UNIX) return {};
  SocketAddress result;
  result.family_ = AddressFamily::kUnix;
  const auto* name = reinterpret_cast<const char*>(address) + offsetof(sockaddr_un, sun_path);
  const size_t space = std::min<size_t>(length - offsetof(sockaddr_un, sun_path), sizeof(sockaddr_un::sun_path));
  if (space > 0 && name[0] == '\0') {
    if (space > 1) result.path_ = std::make_unique<std::string>("@" + std::string(name + 1, space - 1));
  } else if (const size_t used = strnlen(name, space); used > 0) {
    result.path_ = std::make_unique<std::string>(name, used);
  }
  return result;
}

SocketAddress SocketAddress::OfSocket(int fd) {
  sockaddr_storage storage;
  socklen_t length = sizeof storage;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  return FromSockaddr(reinterpret_cast<const sockaddr*>(&storage), length);
}

SocketAddress SocketAddress::OfPeer(int fd) {
  sockaddr_storage storage;
  socklen_t length = sizeof storage;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  return FromSockaddr(reinterpret_cast<const sockaddr*>(&storage), length);
}

bool SocketAddress::is_any() const { return is_ip() && bytes_ == std::array<uint8_t, 16>{}; }

bool SocketAddress::is_loopback() const {
  if (family_ == AddressFamily::kIpv4) return bytes_[0] == 127;
  std::array<uint8_t, 16> one{};
  one[15] = 1;
  return family_ == AddressFamily::kIpv6 && bytes_ == one;
}

uint32_t SocketAddress::ipv4() const {
  assert(family_ == AddressFamily::kIpv4);
  uint32_t network_order;
  std::memcpy(&network_order, bytes_.data(), sizeof network_order);
  return ntohl(network_order);
}

const std::string& SocketAddress::unix_path() const { return path_ ? *path_ : EmptyPath(); }

socklen_t SocketAddress::ToSockaddr(sockaddr_storage& storage) const {
  switch (family_) {
    case AddressFamily::kIpv4: {
      sockaddr_in in{};
      in.sin_family = AF_INET;
      in.sin_port = htons(port_);
      std::memcpy(&in.sin_addr, bytes_.data(), sizeof in.sin_addr);
      std::memcpy(&storage, &in, sizeof in);
      return sizeof in;
    }
    case AddressFamily::kIpv6: {
      sockaddr_in6 in6{};
      in6.sin6_family = AF_INET6;
      in6.sin6_port = htons(port_);
      in6.sin6_scope_id = scope_id_;
      std::memcpy(&in6.sin6_addr, bytes_.data(), bytes_.size());
      std::memcpy(&storage, &in6, sizeof in6);
      return sizeof in6;
    }
    case AddressFamily::kUnix: {
      sockaddr_un un{};
      un.sun_family = AF_UNIX;
      const std::string& path = unix_path();
      size_t used = std::min(path.size(), sizeof un.sun_path);
      std::memcpy(un.sun_path, path.data(), used);
      // An abstract name is all bytes up to the length; a path carries its NUL.
      if (!path.empty() && path[0] == '@') {
        un.sun_path[0] = '\0';
      } else if (!path.empty() && used < sizeof un.sun_path) {
        ++used;
      }
      std::memcpy(&storage, &un, sizeof un);
      return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + used);
    }
    case AddressFamily::kNone:
      break;
  }
  storage.ss_family = AF_UNSPEC;
  return sizeof(sa_family_t);
}

std::string SocketAddress::IpText() const {
  char buffer[INET6_ADDRSTRLEN];
  switch (family_) {
    case AddressFamily::kIpv4:
      return inet_ntop(AF_INET, bytes_.data(), buffer, sizeof buffer);
    case AddressFamily::kIpv6: {
      std::string text = inet_ntop(AF_INET6, bytes_.data(), buffer, sizeof buffer);
      if (scope_id_ != 0) absl::StrAppend(&text, "%", scope_id_);
      return text;
    }
    case AddressFamily::kUnix:
      return absl::StrCat("unix:", ForLog(unix_path()));
    case AddressFamily::kNone:
      break;
  }
  return "0.0.0.0";
}

std::string SocketAddress::ToString() const {
  if (is_unix()) return IpText();
  if (family_ == AddressFamily::kIpv6) return absl::StrCat("[", IpText(), "]:", port_);
  return absl::StrCat(IpText(), ":", port_);
}

bool operator==(const SocketAddress& a, const SocketAddress& b) {
  return a.family_ == b.family_ && a.port_ == b.port_ && a.scope_id_ == b.scope_id_ && a.bytes_ == b.bytes_ &&
         a.unix_path() == b.unix_path();
}

bool operator<(const SocketAddress& a, const SocketAddress& b) {
  return std::tie(a.family_, a.bytes_, a.scope_id_, a.port_, a.unix_path()) <
         std::tie(b.family_, b.bytes_, b.scope_id_, b.port_, b.unix_path());
}

}  // namespace sluice::sys
