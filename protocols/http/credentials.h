#ifndef SLUICE_PROTOCOLS_HTTP_CREDENTIALS_H_
#define SLUICE_PROTOCOLS_HTTP_CREDENTIALS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "protocols/http/head.h"

namespace sluice::http {

// What a client says of itself in Proxy-Authorization: "Basic" in any case, blanks, base64 of "USER:PASSWORD" (RFC 7617
// section 2). The user ends at the first colon.
struct BasicCredentials {
  std::string user;
  std::string password;
};

// The value of the field; empty where there is none, or where there are several, which two readers could choose among.
absl::string_view AuthorizationOf(const Fields& fields);

// False for everything that is not as above to the letter: another scheme, anything but base64 with its padding, no
// colon, an empty user, more than 8 KB.
//
// Both are pure, bounded and thread-safe.
bool ParseBasicCredentials(absl::string_view value, BasicCredentials& result);

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_CREDENTIALS_H_
