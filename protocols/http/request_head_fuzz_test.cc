// Input: the bytes of a client. Whatever they are, the outcome does not depend on how they are cut, and a request that
// is taken has exactly one reading.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "protocols/http/request_head.h"

namespace sluice::http {
namespace {

void Check(bool good) {
  if (!good) std::abort();
}

void CheckScanner(absl::string_view bytes) {
  HeadScanner whole;
  const HeadScanner::State state = whole.Scan(bytes);
  HeadScanner cut;
  HeadScanner::State cut_state = HeadScanner::State::kMore;
  const size_t step = bytes.size() > 4096 ? 509 : 1;
  for (size_t size = 0; cut_state == HeadScanner::State::kMore && size < bytes.size();) {
    size = std::min(size + step, bytes.size());
    cut_state = cut.Scan(bytes.substr(0, size));
  }
  Check(state == cut_state);
  if (state == HeadScanner::State::kWhole) Check(whole.end() == cut.end() && whole.end() <= kMostHeadBytes + 8);
  if (state == HeadScanner::State::kBad) Check(whole.error().status == cut.error().status);
}

void CheckRequest(absl::string_view head) {
  RequestHead request;
  if (!ParseRequestHead(head, request).ok()) return;
  Check(request.fields.size() <= kMostFields);
  Check(request.authority.port != 0 && !request.authority.host.empty());
  Check(request.body_bytes >= 0);
  int lengths = 0, codings = 0;
  for (const Field& field : request.fields) {
    Check(IsToken(field.name));
    for (const char c : field.value) Check(c != '\r' && c != '\n' && c != '\0');
    lengths += IsNamed(field, "content-length") ? 1 : 0;
    codings += IsNamed(field, "transfer-encoding") ? 1 : 0;
  }
  Check(lengths + codings <= 1);
  Check(!RedactedTarget(request).empty());
}

}  // namespace
}  // namespace sluice::http

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  sluice::http::CheckScanner(bytes);
  sluice::http::HeadScanner scanner;
  if (scanner.Scan(bytes) == sluice::http::HeadScanner::State::kWhole) {
    sluice::http::CheckRequest(bytes.substr(0, scanner.end()).substr(scanner.leading_bytes()));
  }
  return 0;
}
