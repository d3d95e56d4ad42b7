#include "protocols/upstream/socks_client.h"

#include <algorithm>
#include <array>

#include "protocols/upstream/depth.h"

namespace sluice::upstream {
namespace {

constexpr size_t kMostStringBytes = 255;
constexpr char kVersion5 = 5;
constexpr uint8_t kNoCredentials = 0;
constexpr uint8_t kUserAndPassword = 2;
constexpr uint8_t kNoAcceptableMethod = 0xff;
constexpr uint8_t kIpv4Type = 1;
constexpr uint8_t kNameType = 3;
constexpr uint8_t kIpv6Type = 4;

// SOCKS 4: the version of the reply, "request granted" and the length of everything that a parent says.
constexpr uint8_t kReplyVersion4 = 0;
constexpr uint8_t kGranted4 = 90;
constexpr size_t kReply4Bytes = 8;

uint8_t At(absl::string_view bytes, size_t index) { return static_cast<uint8_t>(bytes[index]); }

void AppendPort(uint16_t port, std::string& out) {
  out += static_cast<char>(port >> 8);
  out += static_cast<char>(port & 0xff);
}

void AppendIpv4(uint32_t address, std::string& out) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(address >> shift & 0xff);
}

uint32_t Ipv4At(absl::string_view bytes) {
  return uint32_t{At(bytes, 0)} << 24 | uint32_t{At(bytes, 1)} << 16 | uint32_t{At(bytes, 2)} << 8 | At(bytes, 3);
}

uint16_t PortAt(absl::string_view bytes) { return static_cast<uint16_t>(At(bytes, 0) << 8 | At(bytes, 1)); }

// ATYP, address and port; false where SOCKS 5 has no words for it. Where nothing is known (UDP ASSOCIATE may leave it
// open), 0.0.0.0.
bool AppendDestination(const SocksAsk& ask, std::string& out) {
  const Endpoint& to = ask.destination;
  if ((ask.by_name && !to.host.empty()) || !to.has_address()) {
    if (to.host.size() > kMostStringBytes) return false;
    if (to.host.empty()) {
      out += static_cast<char>(kIpv4Type);
      AppendIpv4(0, out);
    } else {
      out += static_cast<char>(kNameType);
      out += static_cast<char>(to.host.size());
      out += to.host;
    }
  } else if (to.address.family() == sys::AddressFamily::kIpv4) {
    out += static_cast<char>(kIpv4Type);
    AppendIpv4(to.address.ipv4(), out);
  } else if (to.address.family() == sys::AddressFamily::kIpv6) {
    out += static_cast<char>(kIpv6Type);
    out.append(reinterpret_cast<const char*>(to.address.ipv6().data()), to.address.ipv6().size());
  } else {
    return false;
  }
  AppendPort(to.port, out);
  return true;
}

}  // namespace

Socks5Client::Socks5Client(const SocksAsk& ask) {
  if (!Encode(ask)) {
    Fail(HopFault::kCannotAsk);
    return;
  }
  std::string methods(1, static_cast<char>(kNoCredentials));
  if (offers_credentials_) methods += static_cast<char>(kUserAndPassword);
  if (ask.depth > 0) methods += static_cast<char>(kDepthMethod + std::min(ask.depth, kMostDepth));
  output_ += kVersion5;
  output_ += static_cast<char>(methods.size());
  output_ += methods;
}

bool Socks5Client::Encode(const SocksAsk& ask) {
  if (ask.user.size() > kMostStringBytes || ask.password.size() > kMostStringBytes) return false;
  offers_credentials_ = !ask.user.empty();
  if (offers_credentials_) {
    credentials_ += '\x01';
    credentials_ += static_cast<char>(ask.user.size());
    credentials_ += ask.user;
    credentials_ += static_cast<char>(ask.password.size());
    credentials_ += ask.password;
  }
  request_ += kVersion5;
  request_ += static_cast<char>(ask.command);
  request_ += '\0';
  return AppendDestination(ask, request_);
}

size_t Socks5Client::Feed(absl::string_view bytes) {
  size_t taken = 0;
  while (state() == State::kReading && taken < bytes.size()) {
    const size_t part = std::min(need_ - field_.size(), bytes.size() - taken);
    field_.append(bytes.data() + taken, part);
    taken += part;
    if (field_.size() == need_) OnField();
  }
  return taken;
}

void Socks5Client::Expect(Step step, size_t bytes) {
  step_ = step;
  need_ = bytes;
  field_.clear();
}

void Socks5Client::OnField() {
  const absl::string_view field = field_;
  switch (step_) {
    case Step::kMethod:
      if (field[0] != kVersion5) return Fail(HopFault::kBadReply);
      return OnMethod(At(field, 1));
    case Step::kCredentials:
      // RFC 1929: any status but 0 is a failure. Its version is 1; parents that say 5 are in use.
      if (At(field, 1) != 0) return Fail(HopFault::kAuthFailed, At(field, 1));
      return Ask();
    case Step::kReplyHead:
      return OnReplyHead();
    case Step::kReplyName:
      return Expect(Step::kReplyRest, size_t{At(field, 0)} + 2);
    case Step::kReplyRest:
      return OnReplyRest();
  }
}

void Socks5Client::OnMethod(uint8_t method) {
  if (method == kNoAcceptableMethod) return Fail(HopFault::kAuthFailed, method);
  if (method == kNoCredentials) return Ask();
  if (method != kUserAndPassword || !offers_credentials_) return Fail(HopFault::kBadReply);
  output_ += credentials_;
  Expect(Step::kCredentials, 2);
}

void Socks5Client::Ask() {
  output_ += request_;
  asked_ = true;
  Expect(Step::kReplyHead, 4);
}

// VER REP RSV ATYP. A refusal is not read to its end: some parents cut it there, and nothing behind it counts.
void Socks5Client::OnReplyHead() {
  const absl::string_view head = field_;
  if (head[0] != kVersion5) return Fail(HopFault::kBadReply);
  if (At(head, 1) != 0) return Fail(HopFault::kRefused, At(head, 1));
  address_type_ = At(head, 3);
  switch (address_type_) {
    case kIpv4Type:
      return Expect(Step::kReplyRest, 4 + 2);
    case kIpv6Type:
      return Expect(Step::kReplyRest, 16 + 2);
    case kNameType:
      return Expect(Step::kReplyName, 1);
    default:
      return Fail(HopFault::kBadReply);
  }
}

void Socks5Client::OnReplyRest() {
  const absl::string_view rest = field_;
  const uint16_t port = PortAt(rest.substr(rest.size() - 2));
  if (address_type_ == kIpv4Type) bound_ = sys::SocketAddress::Ipv4(Ipv4At(rest), port);
  if (address_type_ == kIpv6Type) {
    std::array<uint8_t, 16> address;
    std::copy_n(rest.begin(), address.size(), address.begin());
    bound_ = sys::SocketAddress::Ipv6(address, port);
  }
  Finish();
}

Socks4Client::Socks4Client(const SocksAsk& ask) {
  const Endpoint& to = ask.destination;
  const bool by_name = (ask.by_name && !to.host.empty()) || !to.has_address();
  const bool strings_fit = ask.user.size() <= kMostStringBytes && to.host.size() <= kMostStringBytes &&
                           ask.user.find('\0') == std::string::npos && to.host.find('\0') == std::string::npos;
  if (ask.command != SocksCommand::kConnect || !strings_fit || (by_name && to.host.empty()) ||
      (!by_name && to.address.family() != sys::AddressFamily::kIpv4)) {
    Fail(HopFault::kCannotAsk);
    return;
  }
  output_ += '\x04';
  output_ += static_cast<char>(ask.command);
  AppendPort(to.port, output_);
  AppendIpv4(by_name ? 1 : to.address.ipv4(), output_);  // 4a: 0.0.0.1, the name follows
  output_ += ask.user;
  output_ += '\0';
  if (by_name) {
    output_ += to.host;
    output_ += '\0';
  }
  asked_ = true;
}

size_t Socks4Client::Feed(absl::string_view bytes) {
  if (state() != State::kReading) return 0;
  const size_t part = std::min(kReply4Bytes - reply_.size(), bytes.size());
  reply_.append(bytes.data(), part);
  if (reply_.size() < kReply4Bytes) return part;
  // Some parents answer with the version of the protocol in place of the reply's.
  if (At(reply_, 0) != kReplyVersion4 && At(reply_, 0) != 4) {
    Fail(HopFault::kBadReply);
  } else if (At(reply_, 1) != kGranted4) {
    // 91 to 93 are the protocol's; 92 and 93 concern the user.
    const uint8_t code = At(reply_, 1);
    if (code == 92 || code == 93) {
      Fail(HopFault::kAuthFailed, code);
    } else if (code == 91) {
      Fail(HopFault::kRefused, code);
    } else {
      Fail(HopFault::kBadReply);
    }
  } else {
    bound_ = sys::SocketAddress::Ipv4(Ipv4At(absl::string_view(reply_).substr(4)),
                                      PortAt(absl::string_view(reply_).substr(2)));
    Finish();
  }
  return part;
}

}  // namespace sluice::upstream
