#ifndef SLUICE_PROTOCOLS_HTTP_ANSWER_H_
#define SLUICE_PROTOCOLS_HTTP_ANSWER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "protocols/dns/result.h"
#include "relay/end_reason.h"

namespace sluice::http {

// An answer of the proxy itself, after which the connection is closed unless it says otherwise.
struct Answer {
  int status = 500;
  std::string text;         // what failed, in plain words, without credentials
  const char* error = "";   // the error type of Proxy-Status (RFC 9209 section 2.3); empty: the field is left out
  std::string more_fields;  // whole lines
  bool head_only = false;   // the answer to a HEAD
  bool keep_alive = false;  // the client may ask again
  int client_minor_version = 1;
};

// The bytes: a short HTML page with Content-Length, Connection, and Proxy-Status. Whatever is in `text` is shown
// as text.
//
// These are pure. Thread-safe.
std::string ToBytes(const Answer& answer);

// "Bad Request". Of the statuses that a proxy gives; "Error" for any other.
const char* ReasonPhrase(int status);

// `text` as it stands on a page: what HTML gives a meaning is escaped, control bytes are '?'. Other bytes beyond ASCII
// are left: a page that has them says that they are UTF-8.
void AppendAsHtml(absl::string_view text, std::string& out);

// Why there is no connection to `where` ("host:port"): 502, 503 or 504 as RFC 9209 recommends for its error types.
Answer AnswerToConnectFailure(const relay::EndReason& reason, absl::string_view where);
Answer AnswerToNoAddress(dns::Outcome outcome, absl::string_view host);

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_ANSWER_H_
