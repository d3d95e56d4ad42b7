#include "sys/process/standard_streams.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sluice::sys {
namespace {

bool IsNull(int fd) {
  struct stat file, null;
  return fstat(fd, &file) == 0 && stat("/dev/null", &null) == 0 && file.st_rdev == null.st_rdev;
}

// What `check` returns in a child in which the standard streams of the `closed` bit mask are closed and then filled.
template <typename Check>
int InChild(unsigned closed, Check check) {
  const pid_t child = fork();
  if (child == 0) {
    for (int number = 0; number < 3; ++number) {
      if ((closed & (1u << number)) != 0) close(number);
    }
    FillStandardStreams();
    _exit(check());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

TEST(StandardStreamsTest, NoSocketEverGetsTheNumberOfAClosedStandardStream) {
  for (unsigned closed = 0; closed < 8; ++closed) {
    const int verdict = InChild(closed, [closed] {
      for (int number = 0; number < 3; ++number) {
        if ((closed & (1u << number)) != 0 && !IsNull(number)) return 10 + number;
      }
      const int next = open("/", O_RDONLY);
      return next > STDERR_FILENO ? 0 : 20 + next;
    });
    EXPECT_EQ(verdict, 0) << "closed: " << closed;
  }
}

TEST(StandardStreamsTest, OpenStreamsAreLeftAlone) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  struct stat pipe_before;
  ASSERT_EQ(fstat(ends[1], &pipe_before), 0);
  const int verdict = InChild(0, [&] {
    dup2(ends[1], STDOUT_FILENO);
    FillStandardStreams();
    struct stat now;
    return fstat(STDOUT_FILENO, &now) == 0 && now.st_ino == pipe_before.st_ino ? 0 : 1;
  });
  EXPECT_EQ(verdict, 0);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace sluice::sys
