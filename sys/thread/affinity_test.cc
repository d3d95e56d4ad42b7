#include "sys/thread/affinity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace sluice::sys {
namespace {

using testing::ElementsAre;
using testing::Optional;

// A tree in place of / .
class Root {
 public:
  Root() {
    std::string pattern = "/tmp/cgroupXXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~Root() { std::filesystem::remove_all(path_); }
  void Write(const std::string& file, const std::string& text) {
    const std::filesystem::path full = path_ + file;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(ParseCgroupPathsTest, FindsBothVersions) {
  const CgroupPaths paths = ParseCgroupPaths("12:cpuset:/x\n4:cpuacct,cpu:/a:b/c\n1:name=systemd:/s\n0::/u/v\n");
  EXPECT_EQ(paths.unified, "/u/v");
  EXPECT_EQ(paths.cpu_v1, "/a:b/c");
  EXPECT_EQ(ParseCgroupPaths("").unified, "");
  EXPECT_EQ(ParseCgroupPaths("garbage\n5:cpuset\n").cpu_v1, "");
}

TEST(ParseQuotaTest, BothVersions) {
  EXPECT_THAT(ParseCpuMax("150000 100000\n"), Optional(1.5));
  for (const char* text : {"", "max 100000\n", "150000", "0 100000", "-1 100000", "1 0", "a b", "1 2 3"}) {
    EXPECT_EQ(ParseCpuMax(text), std::nullopt) << text;
  }
  EXPECT_THAT(ParseCfsQuota("50000\n", "100000\n"), Optional(0.5));
  EXPECT_EQ(ParseCfsQuota("-1\n", "100000\n"), std::nullopt);
  EXPECT_EQ(ParseCfsQuota("", ""), std::nullopt);
}

TEST(PathAndItsParentsTest, GoesUpAndNeverOut) {
  EXPECT_THAT(PathAndItsParents("/a/b"), ElementsAre("/a/b", "/a", ""));
  EXPECT_THAT(PathAndItsParents("/"), ElementsAre(""));
  EXPECT_THAT(PathAndItsParents(""), ElementsAre(""));
  EXPECT_THAT(PathAndItsParents("/../x"), ElementsAre(""));
}

TEST(WorkersForTest, QuotaIsRoundedUpAndAtLeastOne) {
  EXPECT_EQ(WorkersFor(8, std::nullopt), 8);
  EXPECT_EQ(WorkersFor(8, 1.5), 2);
  EXPECT_EQ(WorkersFor(8, 2.0), 2);
  EXPECT_EQ(WorkersFor(8, 0.05), 1);
  EXPECT_EQ(WorkersFor(2, 64.0), 2);
  EXPECT_EQ(WorkersFor(2, 1e300), 2);
}

TEST(MeasureCpuBudgetTest, TheTightestLimitAboveCounts) {
  Root root;
  root.Write("/proc/self/cgroup", "0::/pod/main\n");
  root.Write("/sys/fs/cgroup/pod/main/cpu.max", "max 100000\n");
  root.Write("/sys/fs/cgroup/pod/cpu.max", "50000 100000\n");
  root.Write("/sys/fs/cgroup/cpu.max", "400000 100000\n");
  const CpuBudget budget = MeasureCpuBudget(root.path());
  EXPECT_THAT(budget.quota_cpus, Optional(0.5));
  EXPECT_EQ(budget.workers, 1);
}

TEST(MeasureCpuBudgetTest, VersionOneWithAndWithoutItsOwnMount) {
  Root root;
  root.Write("/proc/self/cgroup", "3:cpu,cpuacct:/docker/0123\n0::/docker/0123\n");
  root.Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "25000\n");  // the container sees its group at the top
  root.Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_THAT(MeasureCpuBudget(root.path()).quota_cpus, Optional(0.25));
  root.Write("/sys/fs/cgroup/cpu/docker/0123/cpu.cfs_quota_us", "10000\n");
  root.Write("/sys/fs/cgroup/cpu/docker/0123/cpu.cfs_period_us", "100000\n");
  EXPECT_THAT(MeasureCpuBudget(root.path()).quota_cpus, Optional(0.1));
}

TEST(MeasureCpuBudgetTest, WithoutCgroupsTheMaskCounts) {
  Root root;
  const CpuBudget budget = MeasureCpuBudget(root.path());
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  EXPECT_EQ(static_cast<int>(budget.cpus.size()), CPU_COUNT(&set));
  EXPECT_EQ(budget.workers, CPU_COUNT(&set));
  EXPECT_EQ(budget.quota_cpus, std::nullopt);
  EXPECT_GE(MeasureCpuBudget().workers, 1);
}

TEST(PinThisThreadTest, NarrowsTheMaskOfThisThreadOnly) {
  const CpuBudget before = MeasureCpuBudget();
  std::thread([&] {
    const int cpu = before.cpus.back();
    ASSERT_TRUE(PinThisThread(cpu).ok());
    EXPECT_THAT(MeasureCpuBudget().cpus, ElementsAre(cpu));
    EXPECT_EQ(sched_getcpu(), cpu);
  }).join();
  EXPECT_EQ(MeasureCpuBudget().cpus, before.cpus);
  EXPECT_FALSE(PinThisThread(-1).ok());
  EXPECT_FALSE(PinThisThread(60000).ok());
}

TEST(NameThisThreadTest, IsCutAtTheKernelsLimit) {
  std::thread([] {
    NameThisThread("a-name-that-is-too-long");
    char name[64];
    ASSERT_EQ(pthread_getname_np(pthread_self(), name, sizeof name), 0);
    EXPECT_STREQ(name, "a-name-that-is-");
  }).join();
}

}  // namespace
}  // namespace sluice::sys
