#include "protocols/socks/wire.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/status/statusor.h"
#include "protocols/socks/reply.h"
#include "protocols/upstream/depth.h"

namespace sluice::socks {
namespace {

constexpr uint8_t kMethodNone = 0;
constexpr uint8_t kMethodPassword = 2;
constexpr char kNoAcceptableMethod = '\xff';
constexpr char kAuthVersion = 1;
constexpr uint8_t kTypeIpv4 = 1;
constexpr uint8_t kTypeName = 3;
constexpr uint8_t kTypeIpv6 = 4;

uint16_t PortAt(const char* bytes) {
  return static_cast<uint16_t>(static_cast<uint8_t>(bytes[0]) << 8 | static_cast<uint8_t>(bytes[1]));
}

sys::SocketAddress Ipv4At(const char* bytes, uint16_t port) {
  uint32_t address = 0;
  for (int i = 0; i < 4; ++i) address = address << 8 | static_cast<uint8_t>(bytes[i]);
  return sys::SocketAddress::Ipv4(address, port);
}

bool IsPlain(absl::string_view name) {
  return !name.empty() &&
         std::none_of(name.begin(), name.end(), [](char c) { return static_cast<uint8_t>(c) < 0x20 || c == 0x7f; });
}

ReplyCode ReplyForFault(Fault fault) {
  switch (fault) {
    case Fault::kCommand:
      return ReplyCode::kCommandNotSupported;
    case Fault::kAddressType:
      return ReplyCode::kAddressTypeNotSupported;
    case Fault::kName:
      return ReplyCode::kHostUnreachable;
    case Fault::kNone:
    case Fault::kVersion:
    case Fault::kNoMethod:
    case Fault::kSubnegotiation:
    case Fault::kCredentials:
    case Fault::kTooLong:
    case Fault::kNoDestination:
      break;
  }
  return ReplyCode::kGeneralFailure;
}

}  // namespace

const char* CommandName(Command command) {
  switch (command) {
    case Command::kNone:
      break;
    case Command::kConnect:
      return "CONNECT";
    case Command::kBind:
      return "BIND";
    case Command::kUdpAssociate:
      return "UDPMAP";
  }
  return "UNKNOWN";
}

size_t Handshake::Feed(absl::string_view bytes) {
  size_t taken = 0;
  while (state_ == State::kReading && taken < bytes.size()) {
    if (InString()) {
      taken += TakeString(bytes.substr(taken));
      continue;
    }
    const size_t count = std::min(need_ - field_.size(), bytes.size() - taken);
    field_.append(bytes.data() + taken, count);
    taken += count;
    // An empty field (a name of no bytes) is whole at once.
    while (state_ == State::kReading && !InString() && field_.size() == need_) OnField();
  }
  return taken;
}

void Handshake::Expect(Step step, size_t bytes) {
  step_ = step;
  need_ = bytes;
  field_.clear();
}

// A string of SOCKS 4, up to its NUL.
size_t Handshake::TakeString(absl::string_view bytes) {
  const size_t room = kMostStringBytes + 1 - field_.size();
  const absl::string_view window = bytes.substr(0, room);
  const size_t end = window.find('\0');
  if (end == absl::string_view::npos) {
    field_.append(window.data(), window.size());
    if (field_.size() > kMostStringBytes) Fail(Fault::kTooLong);
    return window.size();
  }
  field_.append(window.data(), end);
  if (step_ == Step::kUserId4) {
    request_.user = field_;
    if (request_.address.family() != sys::AddressFamily::kNone) {
      Complete();
    } else {
      Expect(Step::kName4, 0);
    }
  } else {
    request_.host = field_;
    Complete();
  }
  return end + 1;
}

void Handshake::OnField() {
  switch (step_) {
    case Step::kVersion:
      request_.version = FirstByte() == 4 || FirstByte() == 5 ? FirstByte() : 0;
      if (request_.version == 5) return Expect(Step::kMethodCount, 1);
      if (request_.version == 4) return Expect(Step::kHead4, 7);
      return Fail(Fault::kVersion);
    case Step::kMethodCount:
      return Expect(Step::kMethods, FirstByte());
    case Step::kMethods:
      return OnMethods();
    case Step::kAuthVersion:
      if (field_[0] != kAuthVersion) return Fail(Fault::kSubnegotiation);
      return Expect(Step::kUserLength, 1);
    case Step::kUserLength:
      return Expect(Step::kUser, FirstByte());
    case Step::kUser:
      request_.user = field_;
      return Expect(Step::kPasswordLength, 1);
    case Step::kPasswordLength:
      return Expect(Step::kPassword, FirstByte());
    case Step::kPassword:
      request_.password = field_;
      state_ = State::kAsking;
      if (policy_ != CredentialPolicy::kVerify) Confirm(true);
      return;
    case Step::kRequestHead:
      return OnRequestHead();
    case Step::kNameLength:
      return Expect(Step::kName, FirstByte());
    case Step::kName:
      request_.host = field_;
      return Expect(Step::kPort, 2);
    case Step::kAddress:
      if (need_ == 4) {
        request_.address = Ipv4At(field_.data(), 0);
      } else {
        std::array<uint8_t, 16> bytes;
        std::memcpy(bytes.data(), field_.data(), bytes.size());
        request_.address = sys::SocketAddress::Ipv6(bytes, 0);
      }
      return Expect(Step::kPort, 2);
    case Step::kPort:
      request_.port = PortAt(field_.data());
      return Complete();
    case Step::kHead4:
      return OnHead4();
    case Step::kUserId4:
    case Step::kName4:
      return;  // strings end at their NUL: TakeString
  }
}

void Handshake::Confirm(bool right) {
  answer_ += kAuthVersion;
  answer_ += right ? '\0' : '\1';
  if (!right) return Fail(Fault::kCredentials);
  state_ = State::kReading;
  Expect(Step::kRequestHead, 4);
}

void Handshake::OnMethods() {
  const bool none = field_.find(static_cast<char>(kMethodNone)) != std::string::npos;
  const bool password = field_.find(static_cast<char>(kMethodPassword)) != std::string::npos;
  for (const char c : field_) {
    const int depth = static_cast<uint8_t>(c) - upstream::kDepthMethod;
    if (depth > 0 && depth <= upstream::kMostDepth) request_.depth = static_cast<uint8_t>(depth);
  }
  answer_ += '\x05';
  if (password && policy_ != CredentialPolicy::kNever) {
    answer_ += static_cast<char>(kMethodPassword);
    return Expect(Step::kAuthVersion, 1);
  }
  if (none && policy_ != CredentialPolicy::kRequire && policy_ != CredentialPolicy::kVerify) {
    answer_ += static_cast<char>(kMethodNone);
    return Expect(Step::kRequestHead, 4);
  }
  answer_ += kNoAcceptableMethod;
  Fail(Fault::kNoMethod);
}

void Handshake::OnRequestHead() {
  if (FirstByte() != request_.version) return Fail(Fault::kVersion);
  command_ = static_cast<uint8_t>(field_[1]);
  switch (static_cast<uint8_t>(field_[3])) {
    case kTypeIpv4:
      return Expect(Step::kAddress, 4);
    case kTypeIpv6:
      return Expect(Step::kAddress, 16);
    case kTypeName:
      return Expect(Step::kNameLength, 1);
    default:
      return Fail(Fault::kAddressType);
  }
}

void Handshake::OnHead4() {
  command_ = static_cast<uint8_t>(field_[0]);
  request_.port = PortAt(field_.data() + 1);
  const sys::SocketAddress address = Ipv4At(field_.data() + 3, request_.port);
  // 0.0.0.x with x not 0: a name follows (4A).
  if (address.ipv4() == 0 || address.ipv4() > 0xff) request_.address = address;
  Expect(Step::kUserId4, 0);
}

void Handshake::Complete() {
  request_.address.set_port(request_.port);
  const uint8_t last =
      request_.version == 5 ? static_cast<uint8_t>(Command::kUdpAssociate) : static_cast<uint8_t>(Command::kBind);
  if (command_ < static_cast<uint8_t>(Command::kConnect) || command_ > last) return Fail(Fault::kCommand);
  request_.command = static_cast<Command>(command_);
  if (request_.address.family() == sys::AddressFamily::kNone) {
    if (!IsPlain(request_.host)) return Fail(Fault::kName);
    // The resolver knows literals as well; those with an interface are left to it, since that must be looked up.
    if (request_.host.find('%') == std::string::npos) {
      absl::StatusOr<sys::SocketAddress> literal = sys::SocketAddress::ParseIp(request_.host, request_.port);
      if (literal.ok()) request_.address = *std::move(literal);
    }
  }
  if (request_.command == Command::kConnect && (request_.port == 0 || request_.address.is_any()) &&
      !(nameless_ && request_.address.is_any())) {
    return Fail(Fault::kNoDestination);
  }
  state_ = State::kComplete;
}

void Handshake::Fail(Fault fault) {
  state_ = State::kFailed;
  fault_ = fault;
  if (fault == Fault::kSubnegotiation) {
    answer_ += kAuthVersion;
    answer_ += '\x01';
    return;
  }
  // Another protocol has no words that the client would understand; of its credentials it was told.
  if (fault == Fault::kVersion || fault == Fault::kNoMethod || fault == Fault::kCredentials) return;
  answer_ += EncodeReply(request_.version, ReplyForFault(fault));
}

}  // namespace sluice::socks
