#ifndef SLUICE_SYS_BASE_ERRNO_STATUS_H_
#define SLUICE_SYS_BASE_ERRNO_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sys/base/errno_or.h"

namespace sluice::sys {

// The one place where an errno becomes an absl::Status: "CONTEXT: Connection refused", under the canonical code that
// tells a caller what to do next (absl::ErrnoToStatusCode). `error` is positive.
//
// Thread-safe.
absl::Status ErrnoStatus(int error, absl::string_view context);
inline absl::Status ErrnoStatus(Errno error, absl::string_view context) { return ErrnoStatus(error.code, context); }

// "Connection refused": strerror without its shared buffer.
std::string ErrnoText(int error);

// "ECONNREFUSED", or "errno 999" for a number without a name: what logs carry, since scripts can match it.
std::string ErrnoName(int error);

}  // namespace sluice::sys

#endif  // SLUICE_SYS_BASE_ERRNO_STATUS_H_
