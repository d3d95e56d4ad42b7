#include "protocols/accounting/log_output.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "protocols/accounting/log_target.h"
#include "sys/base/errno_or.h"
#include "sys/base/unique_fd.h"

namespace sluice::accounting {
namespace {

using Recovery = LogOutput::Recovery;

constexpr int64_t kNoon = 1709726400;  // 2024-03-06 12:00:00 UTC
constexpr int64_t kDay = 86400;

class FileOutputTest : public testing::Test {
 protected:
  void SetUp() override {
    ::signal(SIGPIPE, SIG_IGN);
    ::setenv("TZ", "UTC0", 1);
    ::tzset();
    char folder[] = "/tmp/log_output_XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    folder_ = folder;
  }

  std::string File(const std::string& name) const { return folder_ + "/" + name; }

  std::unique_ptr<LogOutput> New(const std::string& name, const char* rotation = "", int keep = 0) {
    return NewFileOutput(*LogTarget::Parse(File(name), rotation, keep));
  }

  static bool Exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }
  static void Touch(const std::string& path) { std::ofstream(path) << "old\n"; }
  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }

  std::string folder_;
};

TEST_F(FileOutputTest, AppendsAndIsNotForEveryone) {
  Touch(File("log"));
  auto output = New("log");
  ASSERT_EQ(output->Open(kNoon), 0);
  EXPECT_EQ(*output->Write("line\n"), 5u);
  EXPECT_EQ(Read(File("log")), "old\nline\n");
  auto fresh = New("fresh");
  ASSERT_EQ(fresh->Open(kNoon), 0);
  struct stat status {};
  ASSERT_EQ(::stat(File("fresh").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0007, 0u);
}

TEST_F(FileOutputTest, ANewNameEachDay) {
  auto output = New("log", "D");
  ASSERT_EQ(output->Open(kNoon), 0);
  EXPECT_EQ(output->Turn(kNoon), 0);
  ASSERT_TRUE(output->Write("one\n").ok());
  EXPECT_EQ(output->Turn(kNoon + kDay / 2 - 1), 0);
  ASSERT_TRUE(output->Write("two\n").ok());
  EXPECT_EQ(output->Turn(kNoon + kDay / 2), 0);
  ASSERT_TRUE(output->Write("three\n").ok());
  EXPECT_EQ(Read(File("log.2024.03.06")), "one\ntwo\n");
  EXPECT_EQ(Read(File("log.2024.03.07")), "three\n");
  EXPECT_EQ(output->Turn(kNoon), 0);  // the clock was set back
  ASSERT_TRUE(output->Write("four\n").ok());
  EXPECT_EQ(Read(File("log.2024.03.06")), "one\ntwo\nfour\n");
}

TEST_F(FileOutputTest, KeepsSoManyOldFilesAndTouchesNoOthers) {
  for (const char* day : {"01", "02", "03", "04", "05"}) Touch(File(absl::StrCat("log.2024.03.", day)));
  Touch(File("log.2024.03.02.gz"));
  Touch(File("other.2024.03.02"));
  auto output = New("log", "D", 2);
  ASSERT_EQ(output->Open(kNoon), 0);
  ASSERT_EQ(output->Turn(kNoon + kDay), 0);
  EXPECT_TRUE(Exists(File("log.2024.03.07")));
  EXPECT_TRUE(Exists(File("log.2024.03.06")));
  EXPECT_TRUE(Exists(File("log.2024.03.05")));
  for (const char* day : {"01", "02", "03", "04"}) EXPECT_FALSE(Exists(File(absl::StrCat("log.2024.03.", day)))) << day;
  EXPECT_TRUE(Exists(File("log.2024.03.02.gz")));
  EXPECT_TRUE(Exists(File("other.2024.03.02")));
}

TEST_F(FileOutputTest, ATemplateCoarserThanItsPeriodLosesNothing) {
  auto output = New("log-%Y-%m", "D", 3);
  Touch(File("log-2024-02"));
  Touch(File("log-2024-01"));
  ASSERT_EQ(output->Open(kNoon), 0);  // 6 March; 3 days before is March too
  ASSERT_EQ(output->Turn(kNoon + kDay), 0);
  EXPECT_TRUE(Exists(File("log-2024-03")));
  constexpr int64_t kSecondOfApril = kNoon + 27 * kDay;  // three days before is 30 March
  ASSERT_EQ(output->Turn(kSecondOfApril), 0);
  EXPECT_TRUE(Exists(File("log-2024-04")));
  EXPECT_TRUE(Exists(File("log-2024-03")));
  EXPECT_FALSE(Exists(File("log-2024-02")));
}

TEST_F(FileOutputTest, WhenTheNextFileCannotBeMadeTheOldOneGoesOn) {
  auto output = New("%d/log", "D");
  ASSERT_EQ(::mkdir(File("06").c_str(), 0755), 0);
  ASSERT_EQ(output->Open(kNoon), 0);
  EXPECT_EQ(output->Turn(kNoon + kDay), ENOENT);
  ASSERT_TRUE(output->Write("line\n").ok());
  EXPECT_EQ(Read(File("06/log")), "line\n");
  ASSERT_EQ(::mkdir(File("07").c_str(), 0755), 0);
  EXPECT_EQ(output->Turn(kNoon + kDay), 0);
  ASSERT_TRUE(output->Write("next\n").ok());
  EXPECT_EQ(Read(File("07/log")), "next\n");
}

TEST_F(FileOutputTest, AFileThatCannotBeMadeIsAnError) {
  EXPECT_EQ(New("no/log")->Open(kNoon), ENOENT);
  EXPECT_EQ(New("")->Open(kNoon), EISDIR);
}

TEST_F(FileOutputTest, AFifoNeedsNoReader) {
  ASSERT_EQ(::mkfifo(File("fifo").c_str(), 0600), 0);
  auto output = New("fifo");
  ASSERT_EQ(output->Open(kNoon), 0);
  EXPECT_EQ(*output->Write("kept\n"), 5u);
  sys::UniqueFd reader(::open(File("fifo").c_str(), O_RDONLY | O_NONBLOCK));
  char buffer[16];
  EXPECT_EQ(::read(reader.get(), buffer, sizeof(buffer)), 5);
  reader.reset();
  EXPECT_EQ(*output->Write("again\n"), 6u);  // no EPIPE: the next reader finds it
}

TEST_F(FileOutputTest, AFullFifoWouldBlock) {
  ASSERT_EQ(::mkfifo(File("fifo").c_str(), 0600), 0);
  auto output = New("fifo");
  ASSERT_EQ(output->Open(kNoon), 0);
  const std::string lines(1 << 20, 'x');
  const auto taken = output->Write(lines);
  ASSERT_TRUE(taken.ok());
  EXPECT_LT(*taken, lines.size());
  EXPECT_EQ(output->Write(lines).error().code, EAGAIN);
  EXPECT_GE(output->poll_fd(), 0);
}

TEST_F(FileOutputTest, RecoversWhereItStoppedUnlessTheFileIsAnother) {
  auto output = New("log");
  ASSERT_EQ(output->Open(kNoon), 0);
  ASSERT_TRUE(output->Write("half").ok());
  EXPECT_EQ(output->Recover(ENOSPC, kNoon), Recovery::kSame);
  ASSERT_EQ(::truncate(File("log").c_str(), 0), 0);  // an operator made room
  EXPECT_EQ(output->Recover(ENOSPC, kNoon), Recovery::kFresh);
  ASSERT_EQ(::unlink(File("log").c_str()), 0);  // or removed it, which makes none before we let go of it
  EXPECT_EQ(output->Recover(ENOSPC, kNoon), Recovery::kFresh);
  ASSERT_TRUE(output->Write("new\n").ok());
  EXPECT_EQ(Read(File("log")), "new\n");
}

TEST_F(FileOutputTest, AFullFileSystem) {
  ASSERT_EQ(::mkdir(File("disk").c_str(), 0755), 0);
  if (::mount("none", File("disk").c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "no permission to mount a tmpfs here";
  }
  auto output = New("disk/log");
  ASSERT_EQ(output->Open(kNoon), 0);
  const std::string lines(4 << 20, 'x');
  const auto taken = output->Write(lines);
  ASSERT_TRUE(taken.ok());
  EXPECT_LE(*taken, size_t{1} << 20);
  EXPECT_EQ(output->Write(lines).error().code, ENOSPC);
  EXPECT_EQ(output->Recover(ENOSPC, kNoon), Recovery::kSame);
  ASSERT_EQ(::unlink(File("disk/log").c_str()), 0);
  EXPECT_EQ(output->Recover(ENOSPC, kNoon), Recovery::kFresh);
  EXPECT_TRUE(output->Write("line\n").ok());
  output.reset();
  EXPECT_EQ(::umount(File("disk").c_str()), 0);
}

TEST(SharedFdOutput, APipeIsWrittenWithoutBlockingAndWithoutTouchingItsFlags) {
  ::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  sys::UniqueFd reader(ends[0]);
  const sys::UniqueFd writer(ends[1]);
  auto output = NewSharedFdOutput(writer.get());
  ASSERT_EQ(output->Open(0), 0);
  const std::string lines(1 << 20, 'x');
  size_t taken = 0;
  for (;;) {
    const auto piece = output->Write(lines);
    if (!piece.ok()) {
      EXPECT_EQ(piece.error().code, EAGAIN);
      break;
    }
    taken += *piece;
  }
  EXPECT_EQ(taken, 65536u);
  EXPECT_EQ(::fcntl(writer.get(), F_GETFL) & O_NONBLOCK, 0);
  reader.reset();
  EXPECT_EQ(output->Write(lines).error().code, EPIPE);
}

TEST(SharedFdOutput, ASocketIsSentTo) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const sys::UniqueFd reader(ends[0]);
  const sys::UniqueFd writer(ends[1]);
  auto output = NewSharedFdOutput(writer.get());
  ASSERT_EQ(output->Open(0), 0);
  EXPECT_EQ(*output->Write("line\n"), 5u);
  const std::string lines(1 << 20, 'x');
  sys::ErrnoOr<size_t> taken(size_t{0});
  while (taken.ok()) taken = output->Write(lines);
  EXPECT_EQ(taken.error().code, EAGAIN);
}

TEST(SharedFdOutput, AFileKeepsTheOffsetThatOthersShare) {
  char path[] = "/tmp/shared_fd_XXXXXX";
  const sys::UniqueFd file(::mkostemp(path, O_CLOEXEC));
  auto output = NewSharedFdOutput(file.get());
  ASSERT_EQ(output->Open(0), 0);
  ASSERT_TRUE(output->Write("line\n").ok());
  EXPECT_EQ(::lseek(file.get(), 0, SEEK_CUR), 5);
}

TEST(SharedFdOutput, AClosedDescriptorIsAnError) { EXPECT_EQ(NewSharedFdOutput(12345)->Open(0), EBADF); }

}  // namespace
}  // namespace sluice::accounting
