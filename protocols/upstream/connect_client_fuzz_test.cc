// Input: a byte that says where the stream is cut, then what the parent says. Whatever that is, the outcome does not
// depend on the cuts, is reached within kMostAnswerBytes, and a tunnel begins behind an empty line only.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "protocols/upstream/connect_client.h"

namespace sluice::upstream {
namespace {

void Check(bool good) {
  if (!good) std::abort();
}

struct Outcome {
  HopHandshake::State state;
  HopFault fault;
  int code;
  size_t taken;
};

Outcome Run(absl::string_view stream, size_t piece) {
  ConnectAsk ask;
  ask.destination = {"a.example", {}, 443};
  ConnectClient client(ask);
  size_t taken = 0;
  while (client.state() == HopHandshake::State::kReading && taken < stream.size()) {
    const size_t now = client.Feed(stream.substr(taken, piece));
    Check(now > 0);
    taken += now;
  }
  return {client.state(), client.fault(), client.code(), taken};
}

}  // namespace
}  // namespace sluice::upstream

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice::upstream;  // NOLINT: the entry point itself must lie outside
  if (size < 1) return 0;
  const absl::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = Run(stream, std::max<size_t>(1, stream.size()));
  const Outcome cut = Run(stream, 1 + data[0] % 16);
  Check(whole.state == cut.state && whole.fault == cut.fault && whole.code == cut.code && whole.taken == cut.taken);
  Check(whole.taken <= ConnectClient::kMostAnswerBytes + 1);
  if (whole.state == HopHandshake::State::kDone) {
    const absl::string_view head = stream.substr(0, whole.taken);
    Check(absl::StartsWith(head, "HTTP/1."));
    Check(absl::EndsWith(head, "\n\n") || absl::EndsWith(head, "\n\r\n"));
  }
  return 0;
}
