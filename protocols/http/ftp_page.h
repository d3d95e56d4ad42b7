#ifndef SLUICE_PROTOCOLS_HTTP_FTP_PAGE_H_
#define SLUICE_PROTOCOLS_HTTP_FTP_PAGE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sluice::http {

// How the folder of an FTP server was listed: MLSD's lines have a form, LIST's have none (ftp/listing.h).
enum class FtpListForm { kMachine, kPeople };

// A folder of an FTP server as a page: a line for each entry, with a link relative to the folder's URL (which ends in
// "/"). A line of the listing that is not understood is shown as it is. `title`: what the folder is called.
// `whole`: false when the listing was longer than what is shown.
//
// Whatever the server says is shown as text; links lead into the folder and nowhere else.
//
// Pure. Thread-safe.
std::string FtpPage(absl::string_view title, bool has_parent, absl::string_view listing, FtpListForm form, bool whole);

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_FTP_PAGE_H_
