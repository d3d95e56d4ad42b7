#ifndef SLUICE_PROTOCOLS_SOCKS_WIRE_H_
#define SLUICE_PROTOCOLS_SOCKS_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "sys/net/socket_address.h"

namespace sluice::socks {

enum class Command : uint8_t { kNone = 0, kConnect = 1, kBind = 2, kUdpAssociate = 3 };

// "CONNECT", "BIND", "UDPMAP", "UNKNOWN": as access records have them.
const char* CommandName(Command command);

// What a client asked for.
struct Request {
  uint8_t version = 0;               // 4 or 5; 0 while not even that is known
  Command command = Command::kNone;  // until the request is whole
  std::string user;                  // user id (4), user name (RFC 1929); at most 255 bytes of any kind
  std::string password;              // RFC 1929
  // The destination as text, where the client gave text: a name, or an address written as one. At most 255 bytes.
  std::string host;
  // The destination where it is an address, in binary or as text, with the port. kNone: `host` is a name.
  sys::SocketAddress address;
  uint16_t port = 0;
  // Proxies of our kind that the request has passed (upstream/depth.h).
  uint8_t depth = 0;
};

// `-u`: whether the user name and password method is chosen.
enum class CredentialPolicy : uint8_t {
  kNever,    // -u
  kOffer,    // chosen where the client offers it
  kRequire,  // -u2: clients that do not offer it are refused
  kVerify,   // -u3: likewise, and what they give is judged before they may say what they want
};

enum class Fault : uint8_t {
  kNone,
  kVersion,         // neither 4 nor 5, or another one than before
  kNoMethod,        // no method in common; the answer is 05 FF
  kSubnegotiation,  // not RFC 1929's version
  kCredentials,     // refused by Confirm(); the answer is 01 01
  kCommand,
  kAddressType,
  kName,          // empty, or with control characters
  kTooLong,       // a string of SOCKS 4 without an end
  kNoDestination  // 0.0.0.0 or port 0, where a connection is asked for
};

// The server's side of SOCKS 4, 4a and 5 up to and including the request, as a state machine that is fed whatever has
// come, one byte or all at once, and says what to answer. Which pieces the bytes come in makes no difference.
//
//   Handshake handshake(policy);
//   size_t taken = handshake.Feed(bytes);    // again and again
//   send(handshake.TakeAnswer());            // after each Feed; often empty
//   switch (handshake.state()) ...           // kReading: more is needed
//   payload = bytes.substr(taken);           // kComplete: what came behind the request is not the handshake's
//
// A user name and password are always said to be right, but under kVerify: rules decide on the request, which is
// refused there (what 3proxy does, and what lets one port serve clients with and without a name).
//
// Sources: RFC 1928, RFC 1929, "SOCKS: a protocol for TCP proxy across firewalls" (4) and its extension 4A. Beyond
// them: strings of SOCKS 4 end within 255 bytes; RSV is not looked at; IPv4-mapped IPv6 addresses are IPv4; the text of
// an address is that address.
//
// Pure: no system call, no clock. Memory is bounded by three strings of 255 bytes. Thread-compatible.
class Handshake {
 public:
  static constexpr size_t kMostStringBytes = 255;

  enum class State : uint8_t {
    kReading,
    kAsking,    // kVerify: user and password have come; Confirm() is awaited
    kComplete,  // request() is whole and has a destination; it waits for its reply
    kFailed,    // fault() says why; the last answer says so to the client, as far as the protocol has words for it
  };

  // `nameless`: a CONNECT to 0.0.0.0 or :: may be whole, since the caller knows where to.
  explicit Handshake(CredentialPolicy policy, bool nameless = false) : policy_(policy), nameless_(nameless) {}

  // Takes what belongs to the handshake from the front of `bytes` and returns how much that was: all, while kReading;
  // the rest is for the next call where it is kAsking.
  size_t Feed(absl::string_view bytes);

  // Whether the user and the password are right. REQUIRES: kAsking.
  void Confirm(bool right);

  // What is to be sent to the client now; empty afterwards.
  std::string TakeAnswer() { return std::exchange(answer_, {}); }

  State state() const { return state_; }
  Fault fault() const { return fault_; }
  // Filled in as far as the handshake has come.
  const Request& request() const { return request_; }

 private:
  enum class Step : uint8_t {
    kVersion,
    kMethodCount,
    kMethods,
    kAuthVersion,
    kUserLength,
    kUser,
    kPasswordLength,
    kPassword,
    kRequestHead,
    kNameLength,
    kName,
    kAddress,
    kPort,
    kHead4,
    kUserId4,
    kName4,
  };

  bool InString() const { return step_ == Step::kUserId4 || step_ == Step::kName4; }
  uint8_t FirstByte() const { return static_cast<uint8_t>(field_[0]); }
  void Expect(Step step, size_t bytes);
  size_t TakeString(absl::string_view bytes);
  void OnField();
  void OnMethods();
  void OnRequestHead();
  void OnHead4();
  void Complete();
  void Fail(Fault fault);

  const CredentialPolicy policy_;
  const bool nameless_;
  State state_ = State::kReading;
  Fault fault_ = Fault::kNone;
  Step step_ = Step::kVersion;
  uint8_t command_ = 0;  // as sent
  size_t need_ = 1;      // bytes of the field; not for strings
  std::string field_;    // what has come of the current field
  std::string answer_;
  Request request_;
};

}  // namespace sluice::socks

#endif  // SLUICE_PROTOCOLS_SOCKS_WIRE_H_
