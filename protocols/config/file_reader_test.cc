#include "protocols/config/file_reader.h"

#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "protocols/config/testing/build_text.h"

namespace sluice::config {
namespace {

class SystemFileReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = "/tmp/file_reader.XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
  }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  std::string folder_;
  SystemFileReader reader_;
};

TEST_F(SystemFileReaderTest, ReadsWholeFiles) {
  std::string text = std::string("a\0b\n", 4);
  while (text.size() < 300'000) text += text;
  EXPECT_EQ(*reader_.Read(Write("f", text), kConfigurationLimitBytes), text);
  EXPECT_EQ(*reader_.Read(Write("g", ""), 0), "");
}

TEST_F(SystemFileReaderTest, LimitIsExact) {
  const std::string path = Write("f", std::string(100'000, 'x'));
  EXPECT_TRUE(reader_.Read(path, 100'000).ok());
  EXPECT_EQ(reader_.Read(path, 99'999).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(SystemFileReaderTest, EndlessFilesEndAtTheLimit) {
  EXPECT_EQ(reader_.Read("/dev/zero", 1 << 20).status().code(), absl::StatusCode::kOutOfRange);
}

TEST_F(SystemFileReaderTest, ErrorsSayWhatTheSystemSays) {
  EXPECT_EQ(reader_.Read(folder_ + "/none", 10).status().message(), "No such file or directory");
  EXPECT_EQ(reader_.Read(folder_, 10).status().message(), "Is a directory");
}

TEST_F(SystemFileReaderTest, MinusIsStandardInput) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int kept = dup(STDIN_FILENO);
  dup2(ends[0], STDIN_FILENO);
  ASSERT_EQ(write(ends[1], "text", 4), 4);
  close(ends[1]);
  EXPECT_EQ(*reader_.Read("-", 10), "text");
  dup2(kept, STDIN_FILENO);
  close(kept);
  close(ends[0]);
}

TEST_F(SystemFileReaderTest, ChrootPrefixIsCutOff) {
  const std::string path = Write("f", "text");
  EXPECT_EQ(*SystemFileReader("/jail").Read("/jail" + path, 10), "text");
  EXPECT_EQ(*SystemFileReader("/jail/").Read("/jail" + path, 10), "text");
  EXPECT_EQ(*SystemFileReader("/jail").Read(path, 10), "text");
  EXPECT_FALSE(SystemFileReader("/jail").Read("/jailed" + path, 10).ok());
  EXPECT_EQ(*SystemFileReader("/").Read(path, 10), "text");
}

TEST(BudgetReaderTest, HandsOutNoMoreThanItHas) {
  MapReader files;
  files.files["f"] = "12345";
  BudgetReader reader(files, 12);
  EXPECT_TRUE(reader.Read("f", 100).ok());
  EXPECT_FALSE(reader.Read("f", 4).ok());
  EXPECT_TRUE(reader.Read("f", 100).ok());
  EXPECT_FALSE(reader.Read("f", 100).ok());
}

}  // namespace
}  // namespace sluice::config
