#include "tools/sluice/say.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace sluice::tools {
namespace {

// Standard error is a pipe while this lives.
class PipedError {
 public:
  PipedError() : before_(dup(STDERR_FILENO)) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    read_end_ = ends[0];
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    fcntl(read_end_, F_SETFL, O_NONBLOCK);
  }
  ~PipedError() {
    dup2(before_, STDERR_FILENO);
    close(before_);
    CloseReader();
  }

  void Fill() {
    fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
    const std::string page(4096, 'x');
    while (write(STDERR_FILENO, page.data(), page.size()) > 0) {
    }
    fcntl(STDERR_FILENO, F_SETFL, 0);
  }
  std::string TakeAll() {
    std::string all;
    char some[65536];
    for (;;) {
      const ssize_t n = read(read_end_, some, sizeof some);
      if (n <= 0) return all;
      all.append(some, static_cast<size_t>(n));
    }
  }
  void CloseReader() {
    if (read_end_ >= 0) close(read_end_);
    read_end_ = -1;
  }

 private:
  int before_;
  int read_end_;
};

TEST(SayTest, LinesComeAsTheyAreSaid) {
  PipedError stderr_pipe;
  Say("one");
  SayText("two\nthree\n");
  EXPECT_EQ(stderr_pipe.TakeAll(), "one\ntwo\nthree\n");
}

TEST(SayTest, FullPipeHoldsNobodyUpAndWhatWasLostIsCounted) {
  PipedError stderr_pipe;
  stderr_pipe.Fill();
  Say("lost");  // would never return
  SayText("lost, too\nand so is this\n");
  EXPECT_EQ(stderr_pipe.TakeAll().find_first_not_of('x'), std::string::npos);
  Say("there is room");
  EXPECT_EQ(stderr_pipe.TakeAll(), "(3 lines before this one were lost: standard error was full)\nthere is room\n");
  Say("as before");
  EXPECT_EQ(stderr_pipe.TakeAll(), "as before\n");
}

TEST(SayTest, LongTextLosesOnlyWhatFoundNoRoom) {
  PipedError stderr_pipe;
  const std::string line = std::string(999, 'y') + "\n";
  std::string text;
  for (int i = 0; i < 1000; ++i) text += line;
  SayText(text);
  const std::string got = stderr_pipe.TakeAll();
  EXPECT_GE(got.size(), 60000u);
  EXPECT_LT(got.size(), text.size());
  EXPECT_EQ(got, text.substr(0, got.size()));
  Say("end");
  const std::string rest = stderr_pipe.TakeAll();
  EXPECT_NE(rest.find(" lines before this one were lost"), std::string::npos) << rest;
  EXPECT_EQ(rest.substr(rest.size() - 4), "end\n");
}

TEST(SayTest, ReaderThatIsGoneIsNoReasonToEnd) {
  std::signal(SIGPIPE, SIG_IGN);
  PipedError stderr_pipe;
  stderr_pipe.CloseReader();
  Say("nobody hears this");
}

}  // namespace
}  // namespace sluice::tools
