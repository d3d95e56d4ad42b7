#include "protocols/config/commands/data_path.h"

#include <cstdint>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "protocols/config/values.h"

namespace sluice::config {
namespace {

// Larger reads and thresholds than any pipe or buffer has say nothing.
constexpr int64_t kMostBytes = 1 << 30;

absl::Status Invalid(absl::string_view text) { return absl::InvalidArgumentError(text); }

}  // namespace

absl::Status ParseSplice(absl::string_view text, relay::SpliceOptions& splice) {
  relay::SpliceOptions result;
  const absl::string_view mode = text.substr(0, text.find(':'));
  absl::string_view tuning = text.substr(mode.size());
  if (!mode.empty()) {
    const auto bits = ParseInteger(mode, 0, 7);
    if (!bits || mode.size() != 1) {
      return Invalid("is no splice mode, these are -s0 (off) to -s3 and -s5 to -s7 (automatic), write one of them");
    }
    if (*bits == 4) {
      return Invalid("would splice no direction where it pays, 4 is not a mode, write -s0 for off or -s5, -s6, -s7");
    }
    result.from_upstream = (*bits & 1) != 0;
    result.from_client = (*bits & 2) != 0;
    result.automatic = (*bits & 4) != 0;
  }
  if (absl::ConsumePrefix(&tuning, ":")) {
    const std::vector<absl::string_view> words = absl::StrSplit(tuning, ',');
    if (words.size() != 3)
      return Invalid("does not tune splicing, behind : stand MIN,STREAK,SMALL, write -s:16384,2,4096");
    const auto min = ParseInteger(words[0], 1, kMostBytes);
    const auto streak = ParseInteger(words[1], 1, 1'000'000);
    const auto small = ParseInteger(words[2], 1, kMostBytes);
    if (!min || !streak || !small) {
      return Invalid(
          "does not tune splicing, MIN and SMALL are 1 to 1073741824 bytes and STREAK is 1 to 1000000 reads, write "
          "-s:16384,2,4096");
    }
    result.min_bytes = static_cast<int>(*min);
    result.streak = static_cast<int>(*streak);
    result.small_bytes = static_cast<int>(*small);
  }
  splice = result;
  return absl::OkStatus();
}

absl::Status ParseGrace(absl::string_view text, relay::GraceOptions& grace) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, ',');
  if (words.size() != 3) return Invalid("is no grace delay, it takes TRAFF,NUM,DELAY, write -g8000,2,2");
  const auto traffic = ParseInteger(words[0], 1, kMostBytes);
  const auto reads = ParseInteger(words[1], 1, 1'000'000);
  // A read that waits longer than this looks like a dead connection.
  const auto delay = ParseInteger(words[2], 1, 10'000);
  if (!traffic || !reads || !delay) {
    return Invalid(
        "is no grace delay, TRAFF is 1 to 1073741824 bytes, NUM 1 to 1000000 reads and DELAY 1 to 10000 milliseconds, "
        "write -g8000,2,2 or leave it out");
  }
  grace = {static_cast<int>(*traffic), static_cast<int>(*reads), static_cast<int>(*delay)};
  return absl::OkStatus();
}

}  // namespace sluice::config
