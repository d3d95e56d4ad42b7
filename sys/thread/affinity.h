#ifndef SLUICE_SYS_THREAD_AFFINITY_H_
#define SLUICE_SYS_THREAD_AFFINITY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sluice::sys {

// How much processor this process may use, and hence how many workers it should have: one per CPU of the affinity mask,
// but no more than the cgroup's quota allows at once. The CPUs that are online say nothing inside a container: four
// workers on a quota of one CPU are throttled together for most of each 100 ms period, which shows as latency.
struct CpuBudget {
  std::vector<int> cpus;             // of the mask (sched_getaffinity), ascending; at least one
  std::optional<double> quota_cpus;  // none: not limited
  int workers = 1;                   // min(cpus, quota rounded up), at least 1
};

// `root` stands before /proc/self/cgroup and /sys/fs/cgroup: tests give their own tree.
// Start-up only (reads files).
CpuBudget MeasureCpuBudget(const std::string& root = "");

// The pieces, pure.

// What /proc/self/cgroup says; empty where there is no such line. cgroups(7).
struct CgroupPaths {
  std::string unified;  // "0::/path", version 2
  std::string cpu_v1;   // "4:cpu,cpuacct:/path", version 1
};
CgroupPaths ParseCgroupPaths(absl::string_view text);

// "150000 100000" -> 1.5; "max 100000", and what cannot be read, -> none.
std::optional<double> ParseCpuMax(absl::string_view text);
// cpu.cfs_quota_us and cpu.cfs_period_us; a quota of -1 -> none.
std::optional<double> ParseCfsQuota(absl::string_view quota, absl::string_view period);

// "/a/b" -> "/a/b", "/a", "": a limit anywhere above holds as well. A path that leads out of the cgroup namespace
// ("/../x") gives "" alone.
std::vector<std::string> PathAndItsParents(absl::string_view path);

int WorkersFor(int cpus, std::optional<double> quota_cpus);

// Binds the calling thread to one CPU. Of use only when the quota does not share CPUs out (workers == cpus).
absl::Status PinThisThread(int cpu);

// What top -H and gdb show; cut at 15 bytes, the kernel's limit.
void NameThisThread(absl::string_view name);

}  // namespace sluice::sys

#endif  // SLUICE_SYS_THREAD_AFFINITY_H_
