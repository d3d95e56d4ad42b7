#ifndef SLUICE_TLS_HANDSHAKE_CHECK_H_
#define SLUICE_TLS_HANDSHAKE_CHECK_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "tls/handshake_reader.h"

namespace sluice::tls {

// Whether a handshake that passes by is a real one, as far as can be seen without taking part in it. Fed what both
// sides say behind the ClientHello, in whatever pieces it comes.
//
// Certificates can be seen up to TLS 1.2 and in full handshakes only: one of TLS 1.3, which encrypts them, and one that
// resumes a session, which has none, do not pass where a certificate is asked for.
//
// Source: RFC 5246 section 7.3, RFC 8446 sections 2 and 4.2.1. Pure. Holds at most 32 KB. Thread-compatible.
class HandshakeCheck {
 public:
  enum class Level : uint8_t {
    kServerHello,
    kServerCertificate,
    kClientCertificate,  // the server asks for one as well, and the client sends it
  };
  enum class State : uint8_t { kChecking, kPassed, kFailed };

  explicit HandshakeCheck(Level level) : level_(level), client_(kMostKeptBytes), server_(kMostKeptBytes) {}

  State FromClient(absl::string_view bytes);
  State FromServer(absl::string_view bytes);

  State state() const { return state_; }
  // kFailed: a literal.
  const char* fault() const { return fault_; }
  // What the server has sent is an alert, which the client may be told.
  bool server_has_alerted() const { return server_.record_type() == kAlert; }

 private:
  static constexpr size_t kMostKeptBytes = 16384;

  void OnServerMessage();
  void OnServerHello();
  void OnClientMessage();
  void Pass() { state_ = State::kPassed; }
  void Fail(const char* fault);

  const Level level_;
  State state_ = State::kChecking;
  HandshakeReader client_;
  HandshakeReader server_;
  bool hello_seen_ = false;
  bool certificate_seen_ = false;
  bool request_seen_ = false;
  bool client_certificate_seen_ = false;
  const char* fault_ = "";
};

}  // namespace sluice::tls

#endif  // SLUICE_TLS_HANDSHAKE_CHECK_H_
