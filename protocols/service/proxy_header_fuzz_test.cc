// Input: a byte that chooses where the stream is cut, then what a balancer sent. Whatever it is, the outcome does not
// depend on the cuts, and not one byte behind the header is taken.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"
#include "protocols/service/proxy_header.h"

namespace sluice::service {
namespace {

void Check(bool good) {
  if (!good) std::abort();
}

struct Outcome {
  ProxyHeaderReader::State state;
  size_t taken;
  std::string client;
  std::string fault;
};

Outcome Run(absl::string_view stream, size_t piece) {
  ProxyHeaderReader reader;
  size_t taken = 0;
  while (taken < stream.size() && reader.state() == ProxyHeaderReader::State::kReading) {
    const absl::string_view bytes = stream.substr(taken, piece);
    const size_t now = reader.Feed(bytes);
    Check(now <= bytes.size());
    Check(now == bytes.size() || reader.state() != ProxyHeaderReader::State::kReading);
    taken += now;
  }
  Check(reader.client().family() == sys::AddressFamily::kNone || reader.client().is_ip());
  return {reader.state(), taken, reader.client().ToString(), reader.fault()};
}

}  // namespace
}  // namespace sluice::service

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice::service;  // NOLINT: the entry point itself must lie outside
  if (size < 1) return 0;
  const absl::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = Run(stream, std::max<size_t>(1, stream.size()));
  const Outcome cut = Run(stream, 1 + data[0] % 16);
  Check(whole.state == cut.state && whole.client == cut.client && whole.fault == cut.fault);
  Check((whole.state == ProxyHeaderReader::State::kFailed) == !whole.fault.empty());
  if (whole.state != ProxyHeaderReader::State::kComplete) return 0;
  Check(whole.taken == cut.taken && whole.taken <= 16 + 65535);
  // A header is one without what follows it, and none without its last byte.
  Check(Run(stream.substr(0, whole.taken), 4096).state == ProxyHeaderReader::State::kComplete);
  Check(Run(stream.substr(0, whole.taken - 1), 4096).state == ProxyHeaderReader::State::kReading);
  return 0;
}
