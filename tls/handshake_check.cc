#include "tls/handshake_check.h"

#include <cstddef>

namespace sluice::tls {
namespace {

// HandshakeType.
constexpr uint8_t kServerHello = 2;
constexpr uint8_t kCertificate = 11;
constexpr uint8_t kCertificateRequest = 13;
constexpr uint8_t kServerHelloDone = 14;

constexpr size_t kRandomBytes = 32;
constexpr uint16_t kSupportedVersions = 43;
constexpr uint16_t kTls13 = 0x0304;

size_t NumberAt(absl::string_view bytes, size_t at, size_t size) {
  size_t value = 0;
  for (size_t i = at; i < at + size && i < bytes.size(); ++i) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

// The version that a ServerHello has chosen; 0 when it cannot be read.
uint16_t ChosenVersion(absl::string_view body) {
  size_t at = 2 + kRandomBytes;
  if (body.size() <= at) return 0;
  const uint16_t legacy = static_cast<uint16_t>(NumberAt(body, 0, 2));
  at += 1 + NumberAt(body, at, 1) + 2 + 1;  // session, suite, compression
  if (body.size() < at) return 0;
  for (at += 2; at + 4 <= body.size();) {
    const size_t type = NumberAt(body, at, 2);
    const size_t length = NumberAt(body, at + 2, 2);
    at += 4;
    if (length > body.size() - at) return 0;
    if (type == kSupportedVersions) return length == 2 ? static_cast<uint16_t>(NumberAt(body, at, 2)) : 0;
    at += length;
  }
  return legacy;
}

// A Certificate message begins with the length of its list.
bool HasCertificate(absl::string_view body) { return body.size() > 3 && NumberAt(body, 0, 3) > 0; }

}  // namespace

void HandshakeCheck::Fail(const char* fault) {
  if (state_ != State::kChecking) return;
  state_ = State::kFailed;
  fault_ = fault;
}

HandshakeCheck::State HandshakeCheck::FromServer(absl::string_view bytes) {
  while (state_ == State::kChecking) {
    bytes.remove_prefix(server_.Feed(bytes));
    switch (server_.state()) {
      case HandshakeReader::State::kReading:
        return state_;
      case HandshakeReader::State::kMessage:
        OnServerMessage();
        server_.Next();
        break;
      case HandshakeReader::State::kOtherRecord:
        if (server_has_alerted()) {
          Fail("the upstream has refused the handshake");
        } else if (!hello_seen_) {
          Fail("the upstream has not answered with a ServerHello");
        } else {
          // What it would have to show comes before that, or not at all.
          Fail("the upstream shows no certificate, the session is resumed");
        }
        break;
      case HandshakeReader::State::kFailed:
        Fail("the upstream does not speak TLS");
        break;
    }
  }
  return state_;
}

void HandshakeCheck::OnServerMessage() {
  if (!hello_seen_) return OnServerHello();
  switch (server_.type()) {
    case kCertificate:
      if (!HasCertificate(server_.body())) return Fail("the upstream shows no certificate");
      certificate_seen_ = true;
      if (level_ == Level::kServerCertificate) Pass();
      return;
    case kCertificateRequest:
      request_seen_ = true;
      return;
    case kServerHelloDone:
      if (!certificate_seen_) return Fail("the upstream shows no certificate");
      if (!request_seen_) return Fail("the upstream does not ask for a client certificate");
      if (client_certificate_seen_) Pass();
      return;
    default:
      return;
  }
}

void HandshakeCheck::OnServerHello() {
  if (server_.type() != kServerHello) return Fail("the upstream has not answered with a ServerHello");
  const uint16_t version = ChosenVersion(server_.body());
  if (version >> 8 != 3) return Fail("the upstream's ServerHello cannot be read");
  hello_seen_ = true;
  if (level_ == Level::kServerHello) return Pass();
  if (version >= kTls13) return Fail("certificates of TLS 1.3 are encrypted and cannot be seen");
}

HandshakeCheck::State HandshakeCheck::FromClient(absl::string_view bytes) {
  // Where the client has to show nothing, it is not looked at.
  while (state_ == State::kChecking && level_ == Level::kClientCertificate && !client_certificate_seen_) {
    bytes.remove_prefix(client_.Feed(bytes));
    switch (client_.state()) {
      case HandshakeReader::State::kReading:
        return state_;
      case HandshakeReader::State::kMessage:
        OnClientMessage();
        client_.Next();
        break;
      case HandshakeReader::State::kOtherRecord:
      case HandshakeReader::State::kFailed:
        Fail("the client shows no certificate");
        break;
    }
  }
  return state_;
}

// Its first message behind the hello, if it has one to show.
void HandshakeCheck::OnClientMessage() {
  if (client_.type() != kCertificate || !HasCertificate(client_.body())) return Fail("the client shows no certificate");
  client_certificate_seen_ = true;
  if (certificate_seen_ && request_seen_) Pass();
}

}  // namespace sluice::tls
