#include "sys/base/errno_status.h"

#include <cstring>

#include "absl/strings/str_cat.h"

namespace sluice::sys {

std::string ErrnoText(int error) {
  char buffer[128];
  return strerror_r(error, buffer, sizeof buffer);  // GNU form: the result may or may not be `buffer`
}

std::string ErrnoName(int error) {
  const char* name = strerrorname_np(error);
  return name != nullptr ? std::string(name) : absl::StrCat("errno ", error);
}

absl::Status ErrnoStatus(int error, absl::string_view context) {
  return absl::Status(absl::ErrnoToStatusCode(error), absl::StrCat(context, ": ", ErrnoText(error)));
}

}  // namespace sluice::sys
