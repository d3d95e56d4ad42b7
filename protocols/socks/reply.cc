#include "protocols/socks/reply.h"

#include <cerrno>

#include "absl/strings/string_view.h"

namespace sluice::socks {
namespace {

constexpr char kVersion5 = 5;
constexpr char kReplyVersion4 = 0;  // the reply's own version, not that of the protocol
constexpr char kGranted4 = 90;
constexpr char kRejected4 = 91;

void AppendPort(uint16_t port, std::string& out) {
  out += static_cast<char>(port >> 8);
  out += static_cast<char>(port & 0xff);
}

void AppendIpv4(uint32_t address, std::string& out) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(address >> shift & 0xff);
}

}  // namespace

ReplyCode ReplyForErrno(int error) {
  switch (error) {
    case 0:
      return ReplyCode::kGeneralFailure;
    case ENETUNREACH:
    case ENETDOWN:
      return ReplyCode::kNetworkUnreachable;
    case EHOSTUNREACH:
    case EHOSTDOWN:
      return ReplyCode::kHostUnreachable;
    case ECONNREFUSED:
      return ReplyCode::kConnectionRefused;
    case ETIMEDOUT:
      return ReplyCode::kTtlExpired;
    case EACCES:
    case EPERM:
      return ReplyCode::kNotAllowed;
    case EAFNOSUPPORT:
      return ReplyCode::kAddressTypeNotSupported;
    default:
      return ReplyCode::kGeneralFailure;
  }
}

void AppendAddress(const sys::SocketAddress& address, std::string& out) {
  if (address.family() == sys::AddressFamily::kIpv6) {
    out += '\x04';
    out.append(reinterpret_cast<const char*>(address.ipv6().data()), address.ipv6().size());
  } else {
    out += '\x01';
    AppendIpv4(address.family() == sys::AddressFamily::kIpv4 ? address.ipv4() : 0, out);
  }
  AppendPort(address.is_ip() ? address.port() : 0, out);
}

std::string EncodeReply(uint8_t version, ReplyCode code, const sys::SocketAddress& bound) {
  std::string reply;
  if (version == 4) {
    reply += kReplyVersion4;
    reply += code == ReplyCode::kSucceeded ? kGranted4 : kRejected4;
    AppendPort(bound.is_ip() ? bound.port() : 0, reply);
    AppendIpv4(bound.family() == sys::AddressFamily::kIpv4 ? bound.ipv4() : 0, reply);
    return reply;
  }
  reply += kVersion5;
  reply += static_cast<char>(code);
  reply += '\0';
  AppendAddress(bound, reply);
  return reply;
}

}  // namespace sluice::socks
