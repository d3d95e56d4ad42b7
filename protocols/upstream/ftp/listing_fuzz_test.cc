// Input: the answer to LIST or to MLSD, line by line. Whatever it is: names are bounded and lie in their line, and what
// is no number is none.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "protocols/upstream/ftp/listing.h"

namespace sluice::upstream {
namespace {

void Check(bool good) {
  if (!good) std::abort();
}

void CheckEntry(const FtpEntry& entry, absl::string_view line) {
  Check(!entry.name.empty() && entry.name.size() <= kMostFtpNameBytes && entry.name != "." && entry.name != "..");
  Check(line.find(entry.name) != absl::string_view::npos && line.find(entry.leads_to) != absl::string_view::npos);
  Check(entry.bytes >= -1 && entry.time.size() <= line.size() + 16);
}

}  // namespace
}  // namespace sluice::upstream

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using sluice::upstream::FtpEntry;
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    FtpEntry entry;
    if (sluice::upstream::ParseListLine(line, entry)) sluice::upstream::CheckEntry(entry, line);
    if (sluice::upstream::ParseMachineLine(line, entry)) sluice::upstream::CheckEntry(entry, line);
  }
  return 0;
}
