#include "protocols/config/lexer.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protocols/config/testing/build_text.h"

namespace sluice::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

class LexerTest : public ::testing::Test {
 protected:
  // The words of all lines; what is said is in diagnostics_.
  std::vector<Words> Lex(std::string text) {
    Lexer lexer("f", std::move(text), [](absl::string_view word) { return word == "log"; });
    std::vector<Words> lines;
    numbers_.clear();
    diagnostics_ = Diagnostics();
    while (auto line = lexer.Next(files_, diagnostics_)) {
      numbers_.push_back(line->location.line);
      lines.push_back(line->words);
    }
    return lines;
  }

  // The words of one good line.
  Words Line(std::string text) {
    const std::vector<Words> lines = Lex(std::move(text));
    EXPECT_EQ(diagnostics_.ToString(), "");
    return lines.size() == 1 ? lines[0] : Words{absl::StrCat(lines.size(), " lines")};
  }

  std::string ErrorOf(std::string text) {
    const std::vector<Words> lines = Lex(std::move(text));
    EXPECT_TRUE(lines.empty());
    return diagnostics_.ToString();
  }

  MapReader files_;
  Diagnostics diagnostics_;
  std::vector<int> numbers_;
};

TEST_F(LexerTest, WordsAreSeparatedByBlanksTabsAndCarriageReturns) {
  EXPECT_THAT(Line("a b"), ElementsAre("a", "b"));
  EXPECT_THAT(Line("a \t b\t\r\n"), ElementsAre("a", "b"));
  EXPECT_THAT(Line("a\rb"), ElementsAre("a", "b"));
}

TEST_F(LexerTest, CommentsAndEmptyLinesAreCounted) {
  EXPECT_THAT(Lex("#!/x\n\n\r\na\n  \n# b\n\tc\nd"), ElementsAre(Words{"a"}, Words{"d"}));
  EXPECT_THAT(numbers_, ElementsAre(4, 8));
  EXPECT_EQ(diagnostics_.ToString(), "");
}

TEST_F(LexerTest, NumberSignIsACommentOnlyInTheFirstColumn) {
  EXPECT_THAT(Line("a #b c#"), ElementsAre("a", "#b", "c#"));
}

TEST_F(LexerTest, IndentedCommandIsWarnedOf) {
  for (const char* indent : {" ", "\t", "\v", "\f", "\r", "  \t"}) {
    EXPECT_TRUE(Lex(absl::StrCat(indent, "log x\n")).empty());
    EXPECT_THAT(diagnostics_.ToString(),
                HasSubstr("f:1: warning: the line is a comment because it is indented, so 'log'"));
  }
  Lex(" logs x\n  # log\n \n");
  EXPECT_EQ(diagnostics_.ToString(), "");
}

TEST_F(LexerTest, QuotesToggleAnywhere) {
  EXPECT_THAT(Line("a \"b c\" d"), ElementsAre("a", "b c", "d"));
  EXPECT_THAT(Line("a b\" \"c"), ElementsAre("a", "b c"));
  EXPECT_THAT(Line("\"a\"b\"c\""), ElementsAre("abc"));
  EXPECT_THAT(Line("a \"b\tc\""), ElementsAre("a", "b\tc"));
  EXPECT_THAT(Line("a b\\\"c\""), ElementsAre("a", "b\\c"));
}

TEST_F(LexerTest, DoubledQuotes) {
  EXPECT_THAT(Line("a \"b\"\"c\""), ElementsAre("a", "b\"c"));
  EXPECT_THAT(Line("a \"\""), ElementsAre("a", ""));
  EXPECT_THAT(Line("a \"\" b"), ElementsAre("a", "", "b"));
  EXPECT_THAT(Line("a \"\"\"\""), ElementsAre("a", "\""));
  EXPECT_THAT(Line("a \"\"\"b\""), ElementsAre("a", "\"b"));
  EXPECT_THAT(Line("a \"b\"\"\""), ElementsAre("a", "b\""));
  EXPECT_THAT(Line("a \"\"b"), ElementsAre("a", "b"));
}

TEST_F(LexerTest, UnterminatedQuoteCostsItsLineOnly) {
  EXPECT_THAT(Lex("a \"b\nc\n"), ElementsAre(Words{"c"}));
  EXPECT_THAT(diagnostics_.ToString(), HasSubstr("f:1: error: a quote is not closed"));
  EXPECT_THAT(ErrorOf("a \"\"\""), HasSubstr("a quote is not closed"));
  EXPECT_THAT(ErrorOf("a $\"b"), HasSubstr("a quote is not closed"));
}

TEST_F(LexerTest, DollarInsertsTheWordsOfAFile) {
  files_.files["f1"] = "x\ty\r\nz  $v \"w\"\n\n";
  EXPECT_THAT(Line("a $f1 b"), ElementsAre("a", "x", "y", "z", "$v", "\"w\"", "b"));
  EXPECT_THAT(Line("a p$f1"), ElementsAre("a", "px", "y", "z", "$v", "\"w\""));
  EXPECT_THAT(Line("a \"p \"$\"f1\""), ElementsAre("a", "p x", "y", "z", "$v", "\"w\""));
  EXPECT_EQ(files_.reads, 3);
  files_.files["a b$c"] = "x";
  EXPECT_THAT(Line("$\"a b\"$c"), ElementsAre("x"));
}

TEST_F(LexerTest, QuotedDollarIsItself) {
  EXPECT_THAT(Line("u \"bob:CR:$1$salt$hash\""), ElementsAre("u", "bob:CR:$1$salt$hash"));
  EXPECT_EQ(files_.reads, 0);
}

TEST_F(LexerTest, BadFilesAreErrors) {
  files_.files["empty"] = "";
  files_.files["blank"] = " \r\n\t";
  files_.files["nul"] = std::string("a\0b", 3);
  EXPECT_THAT(ErrorOf("a $none"), HasSubstr("f:1: error: cannot read 'none', the file of a $ word: No such file"));
  EXPECT_THAT(ErrorOf("a $empty"), HasSubstr("holds no words"));
  EXPECT_THAT(ErrorOf("a $blank"), HasSubstr("holds no words"));
  EXPECT_THAT(ErrorOf("a $nul"), HasSubstr("holds a NUL byte"));
  EXPECT_THAT(ErrorOf("a $"), HasSubstr("a $ is followed by no path"));
  EXPECT_THAT(ErrorOf("a $ b"), HasSubstr("a $ is followed by no path"));
}

TEST_F(LexerTest, InsertedWordsMayBeMoreThanALineHas) {
  for (int i = 0; i < 100'000; ++i) absl::StrAppend(&files_.files["users"], "user", i, ":CL:password\n");
  const Words words = Line("users $users last");
  ASSERT_EQ(words.size(), 100'002u);
  EXPECT_EQ(words[100'000], "user99999:CL:password");
  EXPECT_EQ(words.back(), "last");
}

TEST_F(LexerTest, InsertedWordsAreBounded) {
  std::string& text = files_.files["f1"];
  for (size_t i = 0; i < kLineLimitInsertedWords; ++i) text += "x\n";
  EXPECT_THAT(ErrorOf("a $f1"), HasSubstr("brings the line to more than 1048576 words"));
}

TEST_F(LexerTest, LineLimits) {
  const std::string longest(kLineLimitBytes - 2, 'x');
  EXPECT_THAT(Line("a " + longest), ElementsAre("a", longest));
  EXPECT_THAT(ErrorOf("a " + longest + "x"), HasSubstr("f:1: error: the line has 65537 bytes, more than the 65536"));
  EXPECT_THAT(Lex("log " + std::string(1 << 20, 'x') + "\nb"), ElementsAre(Words{"b"}));
  EXPECT_THAT(diagnostics_.ToString(), HasSubstr("f:1: error: the line has 1048580 bytes"));
  EXPECT_LT(diagnostics_.ToString().size(), 500u);
  // A comment of any length is one.
  EXPECT_THAT(Line("#" + std::string(1 << 20, 'x') + "\nb"), ElementsAre("b"));
}

TEST_F(LexerTest, WordLimit) {
  std::string text;
  for (size_t i = 0; i < kLineLimitWords; ++i) text += "x ";
  EXPECT_EQ(Line(text).size(), kLineLimitWords);
  EXPECT_THAT(ErrorOf(text + "x"), HasSubstr("f:1: error: the line has more than 4096 words"));
}

TEST_F(LexerTest, NulIsAnErrorWhereverItStands) {
  EXPECT_THAT(Lex(std::string("a\0\nb\n#\0\n\0\nc", 11)), ElementsAre(Words{"b"}, Words{"c"}));
  EXPECT_THAT(diagnostics_.ToString(), HasSubstr("f:1: error: the line holds a NUL byte"));
  EXPECT_EQ(diagnostics_.errors(), 3);
}

TEST_F(LexerTest, ByteOrderMarkIsPassedOver) {
  EXPECT_THAT(Line("\xef\xbb\xbf"
                   "a b"),
              ElementsAre("a", "b"));
}

}  // namespace
}  // namespace sluice::config
