// Input: a byte that chooses the method of the request, then the bytes of an origin.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "protocols/http/response_head.h"

namespace sluice::http {
namespace {

void Check(bool good) {
  if (!good) std::abort();
}

void CheckResponse(absl::string_view head, Method method) {
  ResponseHead response;
  if (!ParseResponseHead(head, method, response).ok()) return;
  Check(response.status >= 100 && response.status <= 999);
  Check(response.body_bytes >= 0);
  Check(!(response.declared.chunked && response.declared.has_length));
  if (method == Method::kHead) Check(response.body == BodyKind::kNone);
  if (response.body == BodyKind::kUntilClose) Check(!response.keep_alive);
}

}  // namespace
}  // namespace sluice::http

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using sluice::http::HeadScanner;
  using sluice::http::Method;
  if (size == 0) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  HeadScanner scanner;
  if (scanner.Scan(bytes) != HeadScanner::State::kWhole) return 0;
  sluice::http::CheckResponse(bytes.substr(0, scanner.end()).substr(scanner.leading_bytes()),
                              data[0] % 2 == 0 ? Method::kGet : Method::kHead);
  return 0;
}
