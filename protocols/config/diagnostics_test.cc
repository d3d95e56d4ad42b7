#include "protocols/config/diagnostics.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice::config {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(DiagnosticsTest, KeepsOrderAndFormat) {
  Diagnostics diagnostics;
  EXPECT_FALSE(diagnostics.has_errors());
  diagnostics.Warning({"b.cfg", 7}, "what, why, what instead");
  EXPECT_FALSE(diagnostics.has_errors());
  diagnostics.Error({"a.cfg", 0}, "x");
  EXPECT_TRUE(diagnostics.has_errors());
  EXPECT_EQ(diagnostics.ToString(), "b.cfg:7: warning: what, why, what instead\na.cfg:0: error: x\n");
  EXPECT_EQ(diagnostics.errors(), 1);
  EXPECT_EQ(diagnostics.warnings(), 1);
}

TEST(DiagnosticsTest, OneLineWhateverTheTextHolds) {
  Diagnostics diagnostics;
  diagnostics.Error({"a\nb", 1}, "c\r\n\x1b[31m\x7f");
  EXPECT_EQ(diagnostics.ToString(), "a\\x0ab:1: error: c\\x0d\\x0a\\x1b[31m\\x7f\n");
}

TEST(DiagnosticsTest, CountsOnAndEndsWithALineThatSaysSo) {
  Diagnostics diagnostics;
  diagnostics.Error({"a", 1}, "first");
  for (int i = 0; i < 5000; ++i) diagnostics.Warning({"a", i + 2}, "more");
  EXPECT_EQ(diagnostics.all().size(), static_cast<size_t>(Diagnostics::kMaxDiagnostics));
  EXPECT_EQ(diagnostics.warnings(), 5000);
  EXPECT_THAT(diagnostics.ToString(), HasSubstr("a:1000: error: from here on nothing more is shown"));
}

TEST(DiagnosticsTest, QuotedWords) {
  EXPECT_EQ(Quoted("plain"), "'plain'");
  EXPECT_EQ(Quoted(""), "''");
  EXPECT_EQ(Quoted("a'b\\c"), "'a\\'b\\\\c'");
  EXPECT_EQ(Quoted("\x1b[2J\n"), "'\\x1b[2J\\x0a'");
  EXPECT_EQ(Quoted("b\xc3\xbc"
                   "cher"),
            "'b\xc3\xbc"
            "cher'");
  EXPECT_THAT(Quoted(std::string(1000, 'x')), EndsWith("xxx...'"));
  EXPECT_LT(Quoted(std::string(1000, 'x')).size(), 110u);
}

}  // namespace
}  // namespace sluice::config
