#ifndef SLUICE_PROTOCOLS_AUTH_RADIUS_TESTING_ANSWER_H_
#define SLUICE_PROTOCOLS_AUTH_RADIUS_TESTING_ANSWER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "protocols/auth/radius/packet.h"

namespace sluice::auth::radius {

// What a server would answer to a request: `attributes` as they are, a Message-Authenticator before them if
// `with_proof`, and the right Response Authenticator. `request` needs its id and authenticator only.
//
// Pure. Thread-safe.
std::string MakeAnswer(Code code, uint8_t id, const Authenticator& request_authenticator, absl::string_view secret,
                       const std::string& attributes, bool with_proof);
inline std::string MakeAnswer(Code code, const Request& request, absl::string_view secret,
                              const std::string& attributes, bool with_proof) {
  return MakeAnswer(code, request.id(), request.authenticator(), secret, attributes, with_proof);
}

// One attribute.
std::string MakeAttribute(Attribute type, absl::string_view value);

}  // namespace sluice::auth::radius

#endif  // SLUICE_PROTOCOLS_AUTH_RADIUS_TESTING_ANSWER_H_
