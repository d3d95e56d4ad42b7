#ifndef SLUICE_PROTOCOLS_SERVICE_PROXY_HEADER_H_
#define SLUICE_PROTOCOLS_SERVICE_PROXY_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "sys/net/socket_address.h"

namespace sluice::service {

// The header of the PROXY protocol, versions 1 (a line) and 2 (binary), with which a balancer tells whose connection it
// passes on: a state machine that is fed whatever has come, one byte or all at once.
//
//   ProxyHeaderReader reader;
//   size_t taken = reader.Feed(bytes);      // again and again; all of them, while kReading
//   switch (reader.state()) ...
//   bytes.substr(taken)                     // kComplete: the client's
//
// It takes not one byte more than the header has. A header that does not speak for a client of TCP (LOCAL, UNKNOWN,
// unspecified, unix and datagram ones) is honoured by skipping it: then the sender is the client. What follows the
// addresses of version 2 (TLVs) is skipped.
//
// Source: "The PROXY protocol, Versions 1 & 2" (haproxy's doc/proxy-protocol.txt), sections 2.1 and 2.2. Stricter than
// that: addresses of version 1 are those of its family and have no second spelling, a line ends with CRLF.
//
// Pure: no system call, no clock. Holds at most 107 bytes; of the up to 65,535 of version 2, 36. Thread-compatible.
class ProxyHeaderReader {
 public:
  // Version 1, the CRLF included.
  static constexpr size_t kMostLineBytes = 107;

  enum class State : uint8_t { kReading, kComplete, kFailed };

  // Takes what belongs to the header from the front of `bytes` and returns how much that was.
  size_t Feed(absl::string_view bytes);

  State state() const { return state_; }
  // kComplete: whose connection it is; kNone: the sender's own.
  const sys::SocketAddress& client() const { return client_; }
  // kFailed: what is wrong with it; a literal.
  const char* fault() const { return fault_; }

 private:
  enum class Step : uint8_t { kFirst, kLine, kHead, kAddresses, kRest };

  size_t TakeFirst(char byte);
  size_t TakeLine(absl::string_view bytes);
  void OnLine();
  void OnHead();
  void OnAddresses();
  void Begin(Step step, size_t need);
  void Fail(const char* fault);

  State state_ = State::kReading;
  Step step_ = Step::kFirst;
  std::string held_;  // of the current step
  size_t need_ = 1;   // bytes of the current step; not for kLine
  size_t rest_ = 0;   // bytes of version 2 behind the addresses
  sys::SocketAddress client_;
  const char* fault_ = "";
};

}  // namespace sluice::service

#endif  // SLUICE_PROTOCOLS_SERVICE_PROXY_HEADER_H_
