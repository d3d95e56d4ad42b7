#ifndef SLUICE_PROTOCOLS_ACCESS_OPERATION_H_
#define SLUICE_PROTOCOLS_ACCESS_OPERATION_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace sluice::access {

// What a client wants to do: the fifth list of a rule.
//
//   tcppm, tlspr, SOCKS CONNECT           kConnect
//   SOCKS BIND                            kBind
//   udppm, SOCKS UDP                      kUdpAssociate
//   CONNECT of HTTP                       kHttpConnect
//   other methods                         kHttpGet, kHttpPut, kHttpPost, kHttpHead, else kHttpOther
enum class Operation : uint8_t {
  kConnect,
  kBind,
  kUdpAssociate,
  kIcmpAssociate,  // a name of 3proxy's language; nothing here does it
  kHttpGet,
  kHttpPut,
  kHttpPost,
  kHttpHead,
  kHttpConnect,
  kHttpOther,
  kFtpGet,
  kFtpPut,
  kFtpList,
  kFtpData,
  kDnsResolve,
  kAdmin,
};

constexpr int kOperations = 16;

// A set of operations: bit i is Operation i. 0 stands for "any" where a rule has it.
using OperationSet = uint16_t;

constexpr OperationSet SetOf(Operation operation) {
  return static_cast<OperationSet>(1u << static_cast<int>(operation));
}

// "HTTP_GET": the name in rules.
const char* OperationName(Operation operation);

// The operations that a word of a rule names: one, or a group (HTTP: all of HTTP but its CONNECT; HTTPS: that; FTP: all
// of FTP). Nothing for any other word. Case-sensitive.
//
// Both are pure and thread-safe.
std::optional<OperationSet> ParseOperation(absl::string_view name);

}  // namespace sluice::access

#endif  // SLUICE_PROTOCOLS_ACCESS_OPERATION_H_
