#include "sys/process/daemon.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"

namespace sluice::sys {
namespace {

std::string ReadAll(int fd) {
  std::string all;
  char buffer[256];
  for (ssize_t got = read(fd, buffer, sizeof buffer); got > 0; got = read(fd, buffer, sizeof buffer)) {
    all.append(buffer, static_cast<size_t>(got));
  }
  return all;
}

// What the daemon says of itself, on a pipe that ends with it.
void DescribeSelf(int fd) {
  char input = 0;
  const std::string text =
      absl::StrCat("leader=", getsid(0) == getpid(), " own_session=", getsid(0) != getsid(getppid()),
                   " stdin_empty=", read(STDIN_FILENO, &input, 1) == 0);
  (void)!write(fd, text.data(), text.size());
}

int ExitStatusOf(pid_t child) {
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(DaemonTest, TheStarterExitsWithZeroOnceReady) {
  int report[2], go[2];
  ASSERT_EQ(pipe2(report, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(go, O_CLOEXEC), 0);
  const pid_t starter = fork();
  if (starter == 0) {
    absl::StatusOr<Daemon> daemon = Daemon::Detach();
    if (!daemon.ok()) _exit(9);
    DescribeSelf(report[1]);
    char told = 0;
    (void)!read(go[0], &told, 1);
    daemon->Ready();
    _exit(0);
  }
  close(report[1]);
  char description[128] = "";
  ASSERT_GT(read(report[0], description, sizeof description - 1), 0);
  EXPECT_EQ(waitpid(starter, nullptr, WNOHANG), 0) << "the starter waits while the daemon is not ready";
  EXPECT_THAT(description, testing::HasSubstr("leader=0 "));
  EXPECT_THAT(description, testing::HasSubstr("stdin_empty=1"));
  ASSERT_EQ(write(go[1], "x", 1), 1);
  EXPECT_EQ(ExitStatusOf(starter), 0);
  EXPECT_EQ(ReadAll(report[0]), "");
}

TEST(DaemonTest, TheStarterExitsWithOneWhenTheDaemonEndsEarly) {
  const pid_t starter = fork();
  if (starter == 0) {
    absl::StatusOr<Daemon> daemon = Daemon::Detach();
    _exit(0);
  }
  EXPECT_EQ(ExitStatusOf(starter), 1);
}

class PidFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/pidfileXXXXXX";
    folder_ = mkdtemp(pattern.data());
    path_ = folder_ + "/sluice.pid";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  static std::string Content(const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }

  std::string folder_, path_;
};

TEST_F(PidFileTest, HoldsTheNumberAndGoesWithUs) {
  ASSERT_TRUE(WritePidFile(path_).ok());
  ASSERT_TRUE(WritePidFile(path_).ok()) << "over an old one";
  EXPECT_EQ(Content(path_), absl::StrCat(getpid(), "\n"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1) << "nothing is left beside it";
  RemovePidFile(path_);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(PidFileTest, AnotherProcesssFileIsKept) {
  std::ofstream(path_) << getpid() + 1 << "\n";
  RemovePidFile(path_);
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(PidFileTest, ALinkIsReplacedNotFollowed) {
  const std::string target = folder_ + "/target";
  std::ofstream(target) << "precious";
  ASSERT_EQ(symlink(target.c_str(), path_.c_str()), 0);
  ASSERT_TRUE(WritePidFile(path_).ok());
  EXPECT_EQ(Content(target), "precious");
  EXPECT_FALSE(std::filesystem::is_symlink(path_));
}

TEST_F(PidFileTest, ErrorsNameThePath) {
  const absl::Status status = WritePidFile("/nosuchfolder/p");
  EXPECT_EQ(std::string(status.message()), "write the pid file /nosuchfolder/p: No such file or directory");
  std::filesystem::create_directory(path_);
  EXPECT_FALSE(WritePidFile(path_).ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

}  // namespace
}  // namespace sluice::sys
