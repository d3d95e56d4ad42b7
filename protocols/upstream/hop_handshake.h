#ifndef SLUICE_PROTOCOLS_UPSTREAM_HOP_HANDSHAKE_H_
#define SLUICE_PROTOCOLS_UPSTREAM_HOP_HANDSHAKE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "sys/net/socket_address.h"

namespace sluice::upstream {

// What went wrong between us and a parent.
enum class HopFault : uint8_t {
  kNone,
  kCannotAsk,   // the request cannot be said in its protocol (an IPv6 address in SOCKS 4, a name that is too long)
  kBadReply,    // what it said is none of its protocol, or too long
  kRefused,     // it does not do it: HopHandshake::code() says why
  kAuthFailed,  // it wants other credentials
};

// The client's side of a proxy protocol, from a fresh connection to the parent's consent: fed with whatever has come,
// one byte or all at once, it says what to send. Which pieces the bytes come in makes no difference, and what comes
// behind the parent's last word is left to the tunnel.
//
//   send(handshake.TakeOutput());
//   while (handshake.state() == kReading) {
//     taken = handshake.Feed(bytes);     // all of them, unless it is over now
//     send(handshake.TakeOutput());
//   }
//
// Pure and bounded, whatever a parent sends. Thread-compatible.
class HopHandshake {
 public:
  enum class State : uint8_t { kReading, kDone, kFailed };

  virtual ~HopHandshake() = default;

  virtual size_t Feed(absl::string_view bytes) = 0;
  // Empty most of the time.
  std::string TakeOutput() { return std::exchange(output_, {}); }

  State state() const { return state_; }
  HopFault fault() const { return fault_; }
  // The parent's own number for its refusal: REP of SOCKS 5, CD of SOCKS 4, the status of HTTP. 0: none.
  int code() const { return code_; }
  // The parent has been asked for the destination: from here on its silence may be the destination's.
  bool asked() const { return asked_; }
  // Where the parent says that it has bound (SOCKS only): the relay of a UDP association. kNone: it did not, or said a
  // name.
  const sys::SocketAddress& bound() const { return bound_; }

 protected:
  void Finish() { state_ = State::kDone; }
  void Fail(HopFault fault, int code = 0) {
    state_ = State::kFailed;
    fault_ = fault;
    code_ = code;
  }

  std::string output_;
  sys::SocketAddress bound_;
  bool asked_ = false;

 private:
  State state_ = State::kReading;
  HopFault fault_ = HopFault::kNone;
  int code_ = 0;
};

}  // namespace sluice::upstream

#endif  // SLUICE_PROTOCOLS_UPSTREAM_HOP_HANDSHAKE_H_
