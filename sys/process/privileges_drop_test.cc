// Really gives up root, in a child. Outside the sandbox, where only one user is mapped.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <iostream>
#include <string>

#include "sys/process/privileges.h"

namespace sluice::sys {
namespace {

constexpr uid_t kUser = 64999;
constexpr gid_t kGroup = 64998;

bool InChild(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool Dropped(const absl::Status& status) {
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok();
}

class DropPrivilegesAsRoot : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
  }
};

TEST_F(DropPrivilegesAsRoot, UserGroupAndSupplementaryGroups) {
  EXPECT_TRUE(InChild([] {
    if (!Dropped(DropPrivileges({.uid = kUser, .gid = kGroup}))) return false;
    gid_t groups[8];
    return getuid() == kUser && geteuid() == kUser && getgid() == kGroup && getegid() == kGroup &&
           getgroups(8, groups) == 1 && groups[0] == kGroup && setuid(0) != 0 && access("/etc/shadow", R_OK) != 0;
  }));
}

TEST_F(DropPrivilegesAsRoot, ChrootLeavesNoWayOut) {
  std::string folder = "/tmp/chrootXXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
  EXPECT_TRUE(InChild([&] {
    if (!Dropped(DropPrivileges({.chroot = folder, .uid = kUser, .gid = kGroup}))) return false;
    char where[64];
    return access("/etc/passwd", F_OK) != 0 && access("../../etc/passwd", F_OK) != 0 &&
           getcwd(where, sizeof where) != nullptr && std::string(where) == "/";
  }));
  rmdir(folder.c_str());
}

TEST_F(DropPrivilegesAsRoot, TwiceIsFineButNotToSomebodyElse) {
  EXPECT_TRUE(InChild([] {
    if (!Dropped(DropPrivileges({.uid = kUser, .gid = kGroup}))) return false;
    if (!Dropped(DropPrivileges({.uid = kUser, .gid = kGroup}))) return false;
    const absl::Status status = DropPrivileges({.uid = kUser + 1, .gid = kGroup});
    return status.code() == absl::StatusCode::kPermissionDenied &&
           std::string(status.message()).find("CAP_SETGID") != std::string::npos;
  }));
}

TEST_F(DropPrivilegesAsRoot, TheUserAloneKeepsTheGroupButNoOthers) {
  EXPECT_TRUE(InChild([] {
    if (!Dropped(DropPrivileges({.uid = kUser}))) return false;
    return getuid() == kUser && getgid() == 0 && getgroups(0, nullptr) == 1;
  }));
}

}  // namespace
}  // namespace sluice::sys
