// Input: a byte that chooses the pieces, then what a server says. Whatever it is: the replies do not depend on the
// pieces, have codes and bounded texts without control bytes, and a port that is found in one is a port.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "protocols/upstream/ftp/reply.h"

namespace sluice::upstream {
namespace {

void Check(bool good) {
  if (!good) std::abort();
}

std::vector<std::string> Read(absl::string_view bytes, size_t piece) {
  std::vector<std::string> all;
  FtpReplyReader reader;
  size_t since = 0;
  while (!bytes.empty()) {
    const size_t used = reader.Feed(bytes.substr(0, piece));
    Check(used > 0 && used <= bytes.size());
    since += used;
    bytes.remove_prefix(used);
    if (reader.state() == FtpReplyReader::State::kMore) continue;
    Check(since <= FtpReplyReader::kMostReplyBytes + 1);
    if (reader.state() == FtpReplyReader::State::kBad) {
      all.push_back("bad");
      break;
    }
    const FtpReply& reply = reader.reply();
    Check(reply.code >= 100 && reply.code < 600 && reply.text.size() <= FtpReplyReader::kMostTextBytes);
    for (const char c : reply.text) Check(c == '\n' || !absl::ascii_iscntrl(static_cast<unsigned char>(c)));
    const auto extended = ParseExtendedPassive(reply.text);
    Check(!extended.has_value() || *extended != 0);
    const auto passive = ParsePassive(reply.text);
    Check(!passive.has_value() || passive->port != 0);
    all.push_back(std::to_string(reply.code) + reply.text);
    reader = FtpReplyReader();
    since = 0;
  }
  return all;
}

}  // namespace
}  // namespace sluice::upstream

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  sluice::upstream::Check(sluice::upstream::Read(bytes, size) == sluice::upstream::Read(bytes, data[0] % 16 + 1));
  return 0;
}
