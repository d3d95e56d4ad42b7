#ifndef SLUICE_TLS_CLIENT_HELLO_H_
#define SLUICE_TLS_CLIENT_HELLO_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tls/handshake_reader.h"

namespace sluice::tls {

// What a TLS client says in the clear before anybody has answered.
struct ClientHello {
  // The highest version that it offers, as on the wire (0x0304 is TLS 1.3).
  uint16_t version = 0;
  // SNI (RFC 6066 section 3); empty without one. At most 255 bytes without a NUL, otherwise as sent. With
  // encrypted_hello it is the public name that stands for the real one.
  std::string server_name;
  // ALPN (RFC 7301), in the client's order; each has 1 to 255 bytes of any kind.
  std::vector<std::string> protocols;
  bool encrypted_hello = false;  // ECH (RFC 9849), real or for show
};

// "TLSv1.3"; "TLS 0x0305" for what has no name yet.
std::string VersionName(uint16_t version);

// Reads the body of a ClientHello message. Null, or what is wrong with it: a literal.
//
// What it does not know (extensions, suites, GREASE of RFC 8701) it passes over. Refused is what two readers could read
// in two ways: a length that does not add up, an extension of those above that comes twice, two server names, a name
// with a NUL.
//
// Source: RFC 8446 section 4.1.2. Pure. Thread-safe.
const char* ParseClientHello(absl::string_view body, ClientHello& hello);

// Finds the ClientHello at the beginning of a connection, in whatever segments and records it comes.
//
// Pure: no system call, no clock. Holds at most kMostBytes. Thread-compatible.
class ClientHelloReader {
 public:
  // Of the message. Browsers send 500 to 2,000 bytes, with post-quantum keys; 16 KB is what one record can hold.
  static constexpr size_t kMostBytes = 16384;

  enum class State : uint8_t {
    kReading,
    kComplete,
    kNotTls,  // the connection begins with something else
    kFailed,  // a TLS handshake that does not begin with a ClientHello that can be read: fault()
  };

  ClientHelloReader() : reader_(kMostBytes) {}

  // Takes everything; what stands behind the hello is not looked at.
  State Feed(absl::string_view bytes);

  State state() const { return state_; }
  const ClientHello& hello() const { return hello_; }
  // kComplete: so many bytes from the beginning of the connection it ends.
  size_t end() const { return end_; }
  const char* fault() const { return fault_; }

 private:
  State Fail(const char* fault);

  HandshakeReader reader_;
  State state_ = State::kReading;
  size_t end_ = 0;
  ClientHello hello_;
  const char* fault_ = "";
};

}  // namespace sluice::tls

#endif  // SLUICE_TLS_CLIENT_HELLO_H_
