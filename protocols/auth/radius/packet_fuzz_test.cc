// Input: what a server sends. It is read as it is, and once more with authenticators that are right, so that the
// attributes are reached; nothing without a Message-Authenticator is ever believed.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"
#include "protocols/auth/radius/packet.h"
#include "protocols/auth/radius/testing/answer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice::auth::radius;  // NOLINT: the entry point itself must lie outside
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  Request request(Code::kAccessRequest, 7, Authenticator{1, 2, 3});
  request.Seal("secret");
  Response response;
  if (ParseResponse(bytes, request, "secret", response) == nullptr) std::abort();
  if (size < 2 || size > 4000) return 0;
  const auto code = static_cast<Code>(data[0]);
  for (const bool with_proof : {false, true}) {
    const std::string answer = MakeAnswer(code, request, "secret", std::string(bytes.substr(1)), with_proof);
    const bool believed = ParseResponse(answer, request, "secret", response) == nullptr;
    if (believed && !with_proof && code != Code::kAccountingResponse) std::abort();
  }
  return 0;
}
