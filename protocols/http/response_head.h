#ifndef SLUICE_PROTOCOLS_HTTP_RESPONSE_HEAD_H_
#define SLUICE_PROTOCOLS_HTTP_RESPONSE_HEAD_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "protocols/http/head.h"
#include "protocols/http/message_length.h"
#include "protocols/http/request_head.h"

namespace sluice::http {

// An answer of an origin. Views lie in the bytes that it was read from.
struct ResponseHead {
  int status = 0;            // 100 to 999
  absl::string_view reason;  // may be empty
  int minor_version = 1;
  Fields fields;

  BodyKind body = BodyKind::kNone;
  int64_t body_bytes = 0;     // of kLength
  DeclaredLength declared;    // what the fields say, also where there is no body (HEAD, 304)
  bool keep_alive = false;    // the origin will take another request on this connection
  bool pins = false;          // NTLM or Negotiate: the connection is this client's alone from now on
  absl::string_view upgrade;  // of a 101

  bool informational() const { return status >= 100 && status < 200; }
};

// Parses a whole head; `method` is that of the request, which decides with the status whether there is a body (RFC 9112
// section 6.3): none after HEAD, 1xx, 204, 304, whatever the fields say. The status line is "HTTP/1.x" SP three digits,
// and then nothing or SP and the reason.
//
// Pure; the views in `result` lie in `head`. Any error makes a 502. Thread-safe.
HeadError ParseResponseHead(absl::string_view head, Method method, ResponseHead& result);

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_RESPONSE_HEAD_H_
