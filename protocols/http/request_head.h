#ifndef SLUICE_PROTOCOLS_HTTP_REQUEST_HEAD_H_
#define SLUICE_PROTOCOLS_HTTP_REQUEST_HEAD_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "protocols/http/authority.h"
#include "protocols/http/head.h"
#include "protocols/http/message_length.h"

namespace sluice::http {

// Methods that the proxy treats each in its way. Exact and case-sensitive (RFC 9110 section 9.1): "get" is kOther.
enum class Method : uint8_t { kGet, kHead, kPost, kPut, kDelete, kConnect, kOptions, kTrace, kPatch, kOther };

// How the target was written (RFC 9112 section 3.2).
enum class TargetForm : uint8_t { kOrigin, kAbsolute, kAuthority, kAsterisk };

enum class Scheme : uint8_t { kHttp, kFtp };

// A request as the one reading that everything after it goes by. Views lie in the bytes that it was read from.
struct RequestHead {
  Method method = Method::kOther;
  absl::string_view method_text;
  absl::string_view target;  // as it came, for the log (without userinfo: RedactedTarget())
  TargetForm form = TargetForm::kOrigin;
  Scheme scheme = Scheme::kHttp;
  // Whom the request is for: of the target where it says, else of the Host field. Host never overrides an absolute
  // target (RFC 9112 section 3.2.2).
  Authority authority;
  absl::string_view path;  // what an origin is asked for: "/a?b", "?b" for a URL without a path, "" or "*"
  int minor_version = 1;   // HTTP/1.0 or 1.1
  Fields fields;

  BodyKind body = BodyKind::kNone;  // kNone, kLength or kChunked
  int64_t body_bytes = 0;           // of kLength
  bool keep_alive = false;          // the client wants the connection to stay
  bool expects_continue = false;
  // "Upgrade: X" that Connection names, of a request without a body: what X is. Empty else; never h2c, behind which
  // requests would pass unseen.
  absl::string_view upgrade;
  int max_forwards = -1;  // of TRACE and OPTIONS; -1: not said
};

// Parses a whole head (from its start line to its empty line). Everything that two readers could read in two ways is an
// error: see head.h, message_length.h, authority.h, and for the rest the comments at each check. Host must be there
// once (HTTP/1.1, but for CONNECT, where many clients leave it out) and be a host.
//
// `fallback` (may be null): whom a request is for that names nobody, with a path for its target and no Host field
// (HTTP/1.0), or an empty one.
//
// Pure; the views in `result` lie in `head`, but those of a fallback where it lies. Thread-safe.
HeadError ParseRequestHead(absl::string_view head, RequestHead& result, const Authority* fallback = nullptr);

// The target without the userinfo of its URL, which may be a password.
std::string RedactedTarget(const RequestHead& request);

// What came in place of a request, for the log: its first line as far as it goes, at most 256 bytes, without anything
// that may be the userinfo of a URL.
//
// Pure. Thread-safe.
std::string RedactedLine(absl::string_view bytes);

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_REQUEST_HEAD_H_
