#ifndef SLUICE_PROTOCOLS_HTTP_MESSAGE_LENGTH_H_
#define SLUICE_PROTOCOLS_HTTP_MESSAGE_LENGTH_H_

#include <cstdint>

#include "protocols/http/head.h"

namespace sluice::http {

// How the end of a body is found (RFC 9112 section 6).
enum class BodyKind : uint8_t { kNone, kLength, kChunked, kUntilClose };

// What the fields of one message say of its length, before the method or the status have their say.
struct DeclaredLength {
  bool has_length = false;
  bool chunked = false;
  int64_t bytes = 0;  // where has_length
};

// Refused, since two readers could take them for two lengths: Transfer-Encoding together with Content-Length, more than
// one of either, a length that is not 1*DIGIT below 2^63, any transfer coding but "chunked" alone, and
// Transfer-Encoding in an HTTP/1.0 message (minor_version 0), which RFC 9112 section 6.1 calls faulty framing.
//
// Pure. Thread-safe.
HeadError ReadDeclaredLength(const Fields& fields, int minor_version, DeclaredLength& result);

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_MESSAGE_LENGTH_H_
