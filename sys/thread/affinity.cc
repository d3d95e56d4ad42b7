#include "sys/thread/affinity.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <iterator>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sys/base/errno_status.h"

namespace sluice::sys {
namespace {

struct CpuSetFree {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

// The kernel refuses a set that is smaller than its own, whose size it does not tell.
std::vector<int> CpusOfMask() {
  constexpr int kMostCpus = 1 << 16;
  for (int size = 1024; size <= kMostCpus; size *= 2) {
    std::unique_ptr<cpu_set_t, CpuSetFree> set(CPU_ALLOC(size));
    const size_t bytes = CPU_ALLOC_SIZE(size);
    CPU_ZERO_S(bytes, set.get());
    if (sched_getaffinity(0, bytes, set.get()) != 0) {
      if (errno == EINVAL) continue;
      break;
    }
    std::vector<int> cpus;
    for (int cpu = 0; cpu < size; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set.get())) cpus.push_back(cpu);
    }
    return cpus;
  }
  return {0};
}

// These files are a line or two; "" when there is none.
std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

std::optional<double> Smaller(std::optional<double> a, std::optional<double> b) {
  if (!a.has_value()) return b;
  return b.has_value() ? std::min(*a, *b) : a;
}

std::optional<double> QuotaOf(const std::string& root) {
  const CgroupPaths paths = ParseCgroupPaths(ReadFile(root + "/proc/self/cgroup"));
  const std::string mount = root + "/sys/fs/cgroup";
  std::optional<double> quota;
  // Folders that do not exist are passed over: in a container without a cgroup namespace the path is the host's, while
  // the mount shows the container's group at its top.
  for (const std::string& folder : PathAndItsParents(paths.unified)) {
    quota = Smaller(quota, ParseCpuMax(ReadFile(absl::StrCat(mount, folder, "/cpu.max"))));
  }
  for (const std::string& folder : PathAndItsParents(paths.cpu_v1)) {
    for (const char* controller : {"/cpu", "/cpu,cpuacct"}) {
      const std::string here = absl::StrCat(mount, controller, folder);
      quota =
          Smaller(quota, ParseCfsQuota(ReadFile(here + "/cpu.cfs_quota_us"), ReadFile(here + "/cpu.cfs_period_us")));
    }
  }
  return quota;
}

std::optional<double> Ratio(absl::string_view quota, absl::string_view period) {
  int64_t quota_micros = 0, period_micros = 0;
  if (!absl::SimpleAtoi(quota, &quota_micros) || !absl::SimpleAtoi(period, &period_micros)) return std::nullopt;
  if (quota_micros <= 0 || period_micros <= 0) return std::nullopt;
  return static_cast<double>(quota_micros) / static_cast<double>(period_micros);
}

}  // namespace

CpuBudget MeasureCpuBudget(const std::string& root) {
  CpuBudget budget;
  budget.cpus = CpusOfMask();
  budget.quota_cpus = QuotaOf(root);
  budget.workers = WorkersFor(static_cast<int>(budget.cpus.size()), budget.quota_cpus);
  return budget;
}

CgroupPaths ParseCgroupPaths(absl::string_view text) {
  CgroupPaths paths;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    // HIERARCHY:CONTROLLERS:PATH, where the path may hold colons itself.
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    if (parts[0] == "0" && parts[1].empty()) paths.unified = std::string(parts[2]);
    for (absl::string_view controller : absl::StrSplit(parts[1], ',')) {
      if (controller == "cpu") paths.cpu_v1 = std::string(parts[2]);
    }
  }
  return paths;
}

std::optional<double> ParseCpuMax(absl::string_view text) {
  const std::vector<absl::string_view> words = absl::StrSplit(absl::StripAsciiWhitespace(text), ' ');
  if (words.size() != 2) return std::nullopt;
  return Ratio(words[0], words[1]);
}

std::optional<double> ParseCfsQuota(absl::string_view quota, absl::string_view period) { return Ratio(quota, period); }

std::vector<std::string> PathAndItsParents(absl::string_view path) {
  std::vector<std::string> all;
  if (!absl::StrContains(path, "..")) {
    while (path.size() > 1) {
      all.emplace_back(path);
      path = path.substr(0, path.rfind('/'));
    }
  }
  all.emplace_back();
  return all;
}

int WorkersFor(int cpus, std::optional<double> quota_cpus) {
  double workers = cpus;
  if (quota_cpus.has_value()) workers = std::min(workers, std::ceil(*quota_cpus));
  return std::max(1, static_cast<int>(workers));
}

absl::Status PinThisThread(int cpu) {
  if (cpu < 0) return absl::InvalidArgumentError(absl::StrCat("there is no CPU ", cpu));
  std::unique_ptr<cpu_set_t, CpuSetFree> set(CPU_ALLOC(cpu + 1));
  const size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
  CPU_ZERO_S(bytes, set.get());
  CPU_SET_S(static_cast<size_t>(cpu), bytes, set.get());
  if (sched_setaffinity(0, bytes, set.get()) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, absl::StrCat("pin a thread to CPU ", cpu));
}

void NameThisThread(absl::string_view name) {
  constexpr size_t kLongest = 15;
  (void)pthread_setname_np(pthread_self(), std::string(name.substr(0, kLongest)).c_str());
}

}  // namespace sluice::sys
