#ifndef SLUICE_PROTOCOLS_UPSTREAM_FTP_LISTING_H_
#define SLUICE_PROTOCOLS_UPSTREAM_FTP_LISTING_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace sluice::upstream {

// One thing in a folder of an FTP server.
struct FtpEntry {
  enum class Kind : uint8_t { kFile, kFolder, kLink, kOther };

  Kind kind = Kind::kFile;
  std::string name;      // as the server has it, in whatever character set; not empty, not "." or ".."
  int64_t bytes = -1;    // -1: not said
  std::string time;      // as the server writes it, MLSD's as "2026-01-31 17:12"; may be empty
  std::string leads_to;  // of a link, where that is said
};

// A name that is longer is none: 255 bytes are the most that file systems in use have, four times that with room.
inline constexpr size_t kMostFtpNameBytes = 1024;

// A line of the answer to LIST, which nothing specifies: what `ls -l` prints (with months or with numbers for the date,
// with or without a group), what Windows prints (with two or four digits for the year), and EPLF. False for what is no
// entry ("total 12", a blank line) or not understood.
bool ParseListLine(absl::string_view line, FtpEntry& entry);

// A line of the answer to MLSD (RFC 3659 section 7): "Type=file;Size=12;Modify=20260131171200; name". False also for
// the folder itself and the one above it.
//
// `line` without its end. Both are pure and thread-safe.
bool ParseMachineLine(absl::string_view line, FtpEntry& entry);

}  // namespace sluice::upstream

#endif  // SLUICE_PROTOCOLS_UPSTREAM_FTP_LISTING_H_
