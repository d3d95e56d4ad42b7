#include "sys/process/limits.h"

#include <sys/resource.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "sys/base/errno_status.h"

namespace sluice::sys {
namespace {

int64_t Number(rlim_t limit) {
  return limit > static_cast<rlim_t>(ResourceLimit::kUnlimited) ? ResourceLimit::kUnlimited
                                                                : static_cast<int64_t>(limit);
}

ResourceLimit Get(__rlimit_resource resource) {
  rlimit limit = {};
  getrlimit(resource, &limit);
  return {Number(limit.rlim_cur), Number(limit.rlim_max)};
}

}  // namespace

absl::StatusOr<ResourceLimit> RaiseOpenFilesLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return ErrnoStatus(errno, "read the limit of open files");
  if (limit.rlim_cur != limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
      return ErrnoStatus(errno, absl::StrCat("raise the limit of open files to ", limit.rlim_max));
    }
  }
  return OpenFilesLimit();
}

ResourceLimit OpenFilesLimit() { return Get(RLIMIT_NOFILE); }
ResourceLimit LockedMemoryLimit() { return Get(RLIMIT_MEMLOCK); }

}  // namespace sluice::sys
