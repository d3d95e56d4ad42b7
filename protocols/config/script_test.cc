#include "protocols/config/script.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protocols/config/testing/build_text.h"

namespace sluice::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ScriptTest : public ::testing::Test {
 protected:
  // "FILE:LINE WORD" of each command, with `include` and `end` carried out.
  std::vector<std::string> Run(const std::string& path) {
    std::vector<std::string> seen;
    diagnostics_ = Diagnostics();
    BudgetReader budget(files_, budget_bytes_);
    Script script(budget, diagnostics_, [](absl::string_view) { return false; });
    if (!script.OpenFile(path, path)) return seen;
    while (auto line = script.Next()) {
      if (line->words[0] == "include") {
        script.Include(line->words.at(1), line->location);
      } else if (line->words[0] == "end") {
        script.End();
      } else {
        seen.push_back(absl::StrCat(line->location.file, ":", line->location.line, " ", line->words[0]));
      }
    }
    return seen;
  }

  MapReader files_;
  Diagnostics diagnostics_;
  size_t budget_bytes_ = kConfigurationLimitBytes;
};

TEST_F(ScriptTest, IncludedCommandsStandAtTheirPlace) {
  files_.files["a"] = "one\ninclude b\nfour\n";
  files_.files["b"] = "\ntwo\ninclude c\n";
  files_.files["c"] = "three";
  EXPECT_THAT(Run("a"), ElementsAre("a:1 one", "b:2 two", "c:1 three", "a:3 four"));
  EXPECT_EQ(diagnostics_.ToString(), "");
}

TEST_F(ScriptTest, SameFileTwiceIsNoCircle) {
  files_.files["a"] = "include b\ninclude b\n";
  files_.files["b"] = "x\n";
  EXPECT_THAT(Run("a"), ElementsAre("b:1 x", "b:1 x"));
}

TEST_F(ScriptTest, EndEndsTheFileThatItStandsIn) {
  files_.files["a"] = "one\ninclude b\nthree\nend\nfour\n";
  files_.files["b"] = "two\nend\nnever\n";
  EXPECT_THAT(Run("a"), ElementsAre("a:1 one", "b:1 two", "a:3 three"));
}

TEST_F(ScriptTest, UnreadableFiles) {
  EXPECT_THAT(Run("a"), IsEmpty());
  EXPECT_THAT(diagnostics_.ToString(), HasSubstr("a:0: error: cannot read the configuration: No such file"));
  files_.files["a"] = "one\ninclude b\ntwo\n";
  EXPECT_THAT(Run("a"), ElementsAre("a:1 one", "a:3 two"));
  EXPECT_THAT(diagnostics_.ToString(), HasSubstr("a:2: error: cannot read 'b', the file to include: No such file"));
}

TEST_F(ScriptTest, CirclesAreNamed) {
  files_.files["a"] = "include b\nafter\n";
  files_.files["b"] = "include c\n";
  files_.files["c"] = "include b\n";
  EXPECT_THAT(Run("a"), ElementsAre("a:2 after"));
  EXPECT_THAT(diagnostics_.ToString(),
              HasSubstr("c:1: error: include of 'b' goes in a circle, 'b' includes 'c' includes 'b', "));
}

TEST_F(ScriptTest, DepthIsBounded) {
  for (int i = 1; i <= 20; ++i) files_.files[absl::StrCat(i)] = absl::StrCat("level\ninclude ", i + 1, "\n");
  EXPECT_EQ(Run("1").size(), static_cast<size_t>(Script::kMaxDepth));
  EXPECT_THAT(diagnostics_.ToString(), HasSubstr("16:2: error: include of '17' would be the 17th file within a file"));
}

TEST_F(ScriptTest, IncludesAreBoundedInAll) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "include b\n";
  files_.files["a"] = text;
  files_.files["b"] = text;
  for (char& c : files_.files["b"]) c = c == 'b' ? 'c' : c;
  files_.files["c"] = "x\n";
  Run("a");
  EXPECT_LE(files_.reads, Script::kMaxIncludes + 1);
  EXPECT_THAT(diagnostics_.ToString(), HasSubstr("is one too many, a configuration includes at most 1000 files"));
}

TEST_F(ScriptTest, AllFilesShareABudget) {
  files_.files["a"] = "include b\nx $c\nlast\n";  // 20 bytes
  files_.files["b"] = std::string(50, 'b');
  files_.files["c"] = std::string(50, 'c');
  budget_bytes_ = 120;
  EXPECT_EQ(Run("a").size(), 3u);
  EXPECT_EQ(diagnostics_.ToString(), "");
  budget_bytes_ = 119;
  EXPECT_EQ(Run("a").size(), 2u);
  EXPECT_THAT(diagnostics_.ToString(), HasSubstr("a:2: error: cannot read 'c'"));
}

}  // namespace
}  // namespace sluice::config
