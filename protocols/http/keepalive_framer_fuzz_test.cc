// Input: two bytes that choose the cuts, two that say how long the client's part is, the client's bytes, the origin's
// answers with a 0xff behind each. Whatever they are: what the origin is sent reads as requests of which each has one
// reading, and neither side hears anything else when the bytes come in other pieces.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "protocols/http/body.h"
#include "protocols/http/request_head.h"
#include "protocols/http/testing/conversation.h"

namespace sluice::http {
namespace {

void Check(bool good) {
  if (!good) std::abort();
}

// Whole requests, the last one perhaps cut off.
void CheckRequests(absl::string_view bytes) {
  while (!bytes.empty()) {
    HeadScanner scanner;
    const HeadScanner::State state = scanner.Scan(bytes);
    if (state != HeadScanner::State::kWhole)
      return Check(state == HeadScanner::State::kMore || bytes.size() > kMostHeadBytes);
    RequestHead request;
    Check(ParseRequestHead(bytes.substr(0, scanner.end()), request).ok());
    Check(request.authority.host == "o" && scanner.leading_bytes() == 0);
    bytes.remove_prefix(scanner.end());
    if (!request.upgrade.empty()) return;
    Body body(request.body, request.body_bytes, true);
    relay::Framer::Step step;
    std::string out;
    const Body::State end = body.over() ? Body::State::kOver : body.Take(bytes, false, step, out);
    Check(end != Body::State::kBad);
    if (end == Body::State::kGoesOn) return;
    bytes.remove_prefix(step.taken);
  }
}

}  // namespace
}  // namespace sluice::http

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using sluice::http::Check;
  if (size < 4) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 4, size - 4);
  const absl::string_view client = bytes.substr(0, data[2] + 256u * data[3]);
  const std::vector<std::string> answers = absl::StrSplit(bytes.substr(client.size()), '\xff');
  const auto whole = sluice::http::Play(client, client.size() + 1, answers, size);
  const auto cut = sluice::http::Play(client, data[0] % 32 + 1, answers, data[1] + 1u);
  sluice::http::CheckRequests(whole.upstream);
  sluice::http::CheckRequests(cut.upstream);
  // What is refused in mid-body may have been passed on up to another byte; everything else is the same.
  if (whole.over == cut.over && !whole.aborted && !whole.refused) Check(whole.client == cut.client);
  return 0;
}
