// Input: a byte of choices, a byte that says where the stream is cut, then what the parent says. Whatever that is, the
// outcome does not depend on the cuts, and nothing behind the parent's last word is taken.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "protocols/upstream/socks_client.h"

namespace sluice::upstream {
namespace {

void Check(bool good) {
  if (!good) std::abort();
}

// Method, credentials, and a reply with the longest name.
constexpr size_t kLongestTalk = 2 + 2 + 4 + 1 + 255 + 2;

struct Outcome {
  HopHandshake::State state;
  HopFault fault;
  int code;
  std::string said;
  size_t taken;
  sys::SocketAddress bound;
};

Outcome Run(uint8_t choices, absl::string_view stream, size_t piece) {
  SocksAsk ask;
  ask.destination = {"a.example", sys::SocketAddress::Ipv4(0xc0000201, 80), 80};
  ask.by_name = (choices & 1) != 0;
  if ((choices & 2) != 0) ask.user = "user";
  std::unique_ptr<HopHandshake> client;
  if ((choices & 4) != 0) {
    client = std::make_unique<Socks4Client>(ask);
  } else {
    client = std::make_unique<Socks5Client>(ask);
  }
  std::string said = client->TakeOutput();
  size_t taken = 0;
  while (client->state() == HopHandshake::State::kReading && taken < stream.size()) {
    const size_t now = client->Feed(stream.substr(taken, piece));
    Check(now > 0);
    taken += now;
    said += client->TakeOutput();
  }
  return {client->state(), client->fault(), client->code(), said, taken, client->bound()};
}

}  // namespace
}  // namespace sluice::upstream

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice::upstream;  // NOLINT: the entry point itself must lie outside
  if (size < 2) return 0;
  const absl::string_view stream(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Outcome whole = Run(data[0], stream, std::max<size_t>(1, stream.size()));
  const Outcome cut = Run(data[0], stream, 1 + data[1] % 16);
  Check(whole.state == cut.state && whole.fault == cut.fault && whole.code == cut.code);
  Check(whole.said == cut.said && whole.taken == cut.taken && whole.bound == cut.bound);
  Check(whole.taken <= kLongestTalk);
  Check((whole.state == HopHandshake::State::kFailed) == (whole.fault != HopFault::kNone));
  return 0;
}
