// The files of testdata/config: those in valid/ build, those in invalid/ do not, and what is said about each is exactly
// what stands in FILE.expected beside it (nothing, for a valid file without one).

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protocols/config/builder.h"
#include "protocols/config/file_reader.h"

namespace sluice::config {
namespace {

constexpr char kFolder[] = "testdata/config";

// The configurations name their own files relative to this folder.
void EnterFolder() {
  static const bool entered = chdir(kFolder) == 0;
  ASSERT_TRUE(entered) << kFolder;
}

std::vector<std::string> ConfigFiles(const std::string& folder) {
  std::vector<std::string> files;
  std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(folder.c_str()), closedir);
  if (dir == nullptr) return files;
  while (const dirent* entry = readdir(dir.get())) {
    if (absl::EndsWith(entry->d_name, ".cfg")) files.push_back(absl::StrCat(folder, "/", entry->d_name));
  }
  std::sort(files.begin(), files.end());
  return files;
}

// "valid/system_allowed.cfg" and the like are read as with --allow-system.
BuildResult Build(const std::string& path) {
  SystemFileReader files;
  return BuildFromFile(path,
                       {.files = &files, .allow_system = absl::StrContains(path, "system_allowed"), .run_system = {}});
}

std::string Expected(const std::string& path) {
  SystemFileReader files;
  absl::StatusOr<std::string> text = files.Read(absl::StrCat(path, ".expected"), kConfigurationLimitBytes);
  return text.ok() ? *text : "";
}

TEST(ConfigFilesTest, ValidOnesBuild) {
  EnterFolder();
  const std::vector<std::string> paths = ConfigFiles("valid");
  EXPECT_GE(paths.size(), 10u);
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const BuildResult result = Build(path);
    EXPECT_NE(result.snapshot, nullptr);
    EXPECT_EQ(result.diagnostics.ToString(), Expected(path));
  }
}

TEST(ConfigFilesTest, InvalidOnesAreToldApart) {
  EnterFolder();
  const std::vector<std::string> paths = ConfigFiles("invalid");
  EXPECT_GE(paths.size(), 20u);
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const BuildResult result = Build(path);
    EXPECT_EQ(result.snapshot, nullptr);
    EXPECT_EQ(result.diagnostics.ToString(), Expected(path));
    EXPECT_TRUE(result.diagnostics.has_errors());
  }
}

// Every line is "FILE:LINE: error|warning: what, why, what instead": three parts at least.
TEST(ConfigFilesTest, MessagesSayWhatWhyAndWhatInstead) {
  EnterFolder();
  for (const char* folder : {"valid", "invalid"}) {
    for (const std::string& path : ConfigFiles(folder)) {
      const BuildResult result = Build(path);
      for (const Diagnostic& diagnostic : result.diagnostics.all()) {
        const auto parts = std::count_if(diagnostic.text.begin(), diagnostic.text.end(),
                                         [](char c) { return c == ',' || c == ';' || c == ':'; });
        EXPECT_GE(parts, 2) << diagnostic.ToString();
        EXPECT_EQ(diagnostic.ToString().find('\n'), std::string::npos);
      }
    }
  }
}

}  // namespace
}  // namespace sluice::config
