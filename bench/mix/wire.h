#ifndef SLUICE_BENCH_MIX_WIRE_H_
#define SLUICE_BENCH_MIX_WIRE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "sys/net/socket_address.h"

namespace sluice::bench::mix {

// What load and origin say to each other, HTTP/1.1: GET /BYTES/ID asks for so many bytes of exchange ID's content, GET
// /BYTES/ID/last for the same and the end of the connection. The answer has Content-Length and repeats the ID in
// X-Exchange, so that an answer that a proxy gave to the wrong request is known. Pure, all of it.

constexpr size_t kMostHeadBytes = 16 * 1024;

// How the load reaches the origin.
enum class Via : uint8_t { kNone, kHttp, kConnect, kSocks, kRelay };
const char* ViaName(Via via);

struct Request {
  uint64_t id = 0;
  int64_t bytes = 0;
  bool last = false;
};

// The head as a browser would send it, some 400 bytes. In absolute form, and with `Connection: close` for a last one,
// through an HTTP proxy: what it is to do with the connection is said in the head. In a tunnel the end is an end of
// stream, which is the caller's to send.
std::string RequestText(const Request& request, Via via, const sys::SocketAddress& origin);

enum class Parsed { kMore, kDone, kBad };

// Reads the head at the front of `bytes`; with kDone, `*head_bytes` are the head. kBad: not what RequestText makes (in
// origin form), or longer than kMostHeadBytes.
Parsed ParseRequest(absl::string_view bytes, size_t* head_bytes, Request* request);

std::string AnswerText(const Request& request);

struct AnswerHead {
  int status = 0;
  int64_t length = -1;  // of Content-Length; -1 without one
  uint64_t id = 0;      // of X-Exchange
  bool closes = false;  // the connection ends after it: Connection: close, or HTTP/1.0 without keep-alive
};
// As ParseRequest. Header fields that a proxy added are passed over. kBad: no HTTP answer at all, or longer than
// kMostHeadBytes.
Parsed ParseAnswer(absl::string_view bytes, size_t* head_bytes, AnswerHead* answer);

// The way into a tunnel (Via::kConnect, Via::kSocks without a password): what to say first, and what to do with what
// comes back. `stage` starts at 0 and counts the answers that were understood.
std::string TunnelOpening(Via via, const sys::SocketAddress& origin);
struct TunnelStep {
  enum Kind { kMore, kSend, kOpen, kRefused } kind;
  size_t consumed;   // of the received bytes
  std::string text;  // kSend: what to say; kRefused: why
};
TunnelStep NextTunnelStep(Via via, int stage, const sys::SocketAddress& origin, absl::string_view received);

}  // namespace sluice::bench::mix

#endif  // SLUICE_BENCH_MIX_WIRE_H_
