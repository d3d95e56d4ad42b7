// Input: a byte that chooses the policy, a byte that chooses where the stream is cut, then the stream of a client.
// Whatever it is, the outcome does not depend on the cuts, is reached within a bounded number of bytes, and a request
// that is said to be whole is one.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"
#include "protocols/socks/wire.h"

namespace sluice::socks {
namespace {

void Check(bool good) {
  if (!good) std::abort();
}

// Greeting, RFC 1929 and request, each with its longest strings.
constexpr size_t kLongestHandshake = 2 + 255 + 3 + 2 * 255 + 5 + 255 + 2;

struct Outcome {
  Handshake::State state;
  Fault fault;
  std::string answers;
  size_t taken;
  Request request;
};

Outcome Run(absl::string_view stream, CredentialPolicy policy, size_t piece) {
  Handshake handshake(policy);
  std::string answers;
  size_t taken = 0;
  while (taken < stream.size() && handshake.state() == Handshake::State::kReading) {
    const absl::string_view bytes = stream.substr(taken, piece);
    const size_t now = handshake.Feed(bytes);
    Check(now <= bytes.size() && (now == bytes.size() || handshake.state() != Handshake::State::kReading));
    taken += now;
    if (handshake.state() == Handshake::State::kAsking) handshake.Confirm(handshake.request().password.size() % 2 == 0);
    answers += handshake.TakeAnswer();
  }
  Check(handshake.Feed("") == 0);
  return {handshake.state(), handshake.fault(), answers, taken, handshake.request()};
}

void CheckRequest(const Request& request) {
  Check(request.version == 4 || request.version == 5);
  Check(request.user.size() <= Handshake::kMostStringBytes && request.password.size() <= Handshake::kMostStringBytes);
  Check(request.host.size() <= Handshake::kMostStringBytes);
  if (request.address.family() == sys::AddressFamily::kNone) {
    Check(!request.host.empty());
  } else {
    Check(request.address.is_ip() && request.address.port() == request.port);
  }
  for (const char c : request.host) Check(static_cast<uint8_t>(c) >= 0x20 && c != 0x7f);
  if (request.command == Command::kConnect) Check(request.port != 0 && !request.address.is_any());
}

}  // namespace
}  // namespace sluice::socks

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice::socks;  // NOLINT: the entry point itself must lie outside
  if (size < 2) return 0;
  const auto policy = static_cast<CredentialPolicy>(data[0] % 4);
  const absl::string_view stream(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Outcome whole = Run(stream, policy, std::max<size_t>(1, stream.size()));
  const Outcome cut = Run(stream, policy, 1 + data[1] % 16);
  Check(whole.state == cut.state && whole.fault == cut.fault && whole.answers == cut.answers);
  Check(whole.taken == cut.taken && whole.taken <= kLongestHandshake);
  Check((whole.state == Handshake::State::kFailed) == (whole.fault != Fault::kNone));
  Check(whole.request.host == cut.request.host && whole.request.user == cut.request.user);
  Check(whole.answers.size() <= 2 + 2 + 10);
  if (whole.state == Handshake::State::kComplete) CheckRequest(whole.request);
  return 0;
}
