#ifndef SLUICE_SYS_PROCESS_LIMITS_H_
#define SLUICE_SYS_PROCESS_LIMITS_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace sluice::sys {

// A resource limit; RLIM_INFINITY is kUnlimited.
struct ResourceLimit {
  static constexpr int64_t kUnlimited = INT64_MAX;
  int64_t soft = 0;
  int64_t hard = 0;
};

// Raises the soft limit of open descriptors (RLIMIT_NOFILE) to the hard one and returns what holds now. Service
// managers leave the soft limit at 1024 for the sake of programs that use select(2); this one does not. Start-up only.
absl::StatusOr<ResourceLimit> RaiseOpenFilesLimit();

// Without changing anything. Thread-safe.
ResourceLimit OpenFilesLimit();
// Locked memory in bytes: what the rings of all workers share when there is no CAP_IPC_LOCK.
ResourceLimit LockedMemoryLimit();

}  // namespace sluice::sys

#endif  // SLUICE_SYS_PROCESS_LIMITS_H_
