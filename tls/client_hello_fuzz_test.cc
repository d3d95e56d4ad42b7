// Input: a byte that chooses where the stream is cut, then what a client sent first. Whatever it is, the outcome does
// not depend on the cuts, and what is made of it is bounded.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"
#include "tls/client_hello.h"

namespace sluice::tls {
namespace {

void Check(bool good) {
  if (!good) std::abort();
}

ClientHelloReader Run(absl::string_view stream, size_t piece) {
  ClientHelloReader reader;
  for (size_t at = 0; at < stream.size(); at += piece) reader.Feed(stream.substr(at, piece));
  return reader;
}

void CheckHello(const ClientHello& hello) {
  Check(hello.server_name.size() <= 255 && hello.server_name.find('\0') == std::string::npos);
  Check(hello.version >> 8 == 3);
  Check(!VersionName(hello.version).empty());
  size_t bytes = 0;
  for (const std::string& protocol : hello.protocols) {
    Check(!protocol.empty() && protocol.size() <= 255);
    bytes += protocol.size();
  }
  Check(bytes <= ClientHelloReader::kMostBytes);
}

}  // namespace
}  // namespace sluice::tls

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sluice::tls;  // NOLINT: the entry point itself must lie outside
  if (size < 1) return 0;
  const absl::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  const ClientHelloReader whole = Run(stream, std::max<size_t>(1, stream.size()));
  const ClientHelloReader cut = Run(stream, 1 + data[0] % 16);
  Check(whole.state() == cut.state() && absl::string_view(whole.fault()) == cut.fault());
  Check((whole.state() == ClientHelloReader::State::kFailed) == (*whole.fault() != '\0'));
  if (whole.state() != ClientHelloReader::State::kComplete) return 0;
  Check(whole.hello().server_name == cut.hello().server_name && whole.hello().protocols == cut.hello().protocols);
  CheckHello(whole.hello());
  return 0;
}
