#include "protocols/config/shell_command.h"

#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sys/thread/clock.h"

namespace sluice::config {
namespace {

std::string TemporaryFolder() {
  std::string path = "/tmp/shell_command.XXXXXX";
  EXPECT_NE(mkdtemp(path.data()), nullptr);
  return path;
}

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

TEST(ShellCommandTest, RunsByTheShell) {
  const std::string file = TemporaryFolder() + "/out";
  EXPECT_TRUE(RunShellCommand(absl::StrCat("for i in 1 2; do echo $i; done > ", file)).ok());
  EXPECT_EQ(Contents(file), "1\n2\n");
}

TEST(ShellCommandTest, TellsHowItFailed) {
  EXPECT_EQ(RunShellCommand("exit 3").message(), "exit status 3");
  EXPECT_EQ(RunShellCommand("kill -9 $$").message(), "signal 9");
  EXPECT_EQ(RunShellCommand("/no/such/program 2>/dev/null").message(), "exit status 127");
}

TEST(ShellCommandTest, InputIsEmptyAndOutputGoesToStandardError) {
  const std::string file = TemporaryFolder() + "/out";
  EXPECT_TRUE(RunShellCommand(absl::StrCat("cat > ", file, "; [ /dev/fd/1 -ef /dev/fd/2 ]")).ok());
  EXPECT_EQ(Contents(file), "");
}

// A server blocks and ignores signals; what a shell does with them must not change.
TEST(ShellCommandTest, IgnoredSignalsAreDefaultAgain) {
  signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(RunShellCommand("kill -PIPE $$; exit 0").message(), "signal 13");
  signal(SIGPIPE, SIG_DFL);
}

TEST(ShellCommandTest, OneThatHangsIsKilledWithWhatItStarted) {
  const int64_t start = sys::Clock::System().Now();
  const absl::Status status = RunShellCommand("tail -f /dev/null | tail -f /dev/null", sys::kNanosPerSecond / 10);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_LT(sys::Clock::System().Now() - start, 10 * sys::kNanosPerSecond);
}

}  // namespace
}  // namespace sluice::config
