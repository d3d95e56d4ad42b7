#include "protocols/accounting/escape.h"

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace sluice::accounting {
namespace {

std::string Escaped(absl::string_view text, bool blanks = false, size_t budget = 1000) {
  std::string out;
  AppendEscaped(text, blanks, budget, out);
  return out;
}

std::string Replaced(absl::string_view text, absl::string_view chars, char by = '_', size_t budget = 1000) {
  std::string out;
  AppendReplaced(text, chars, by, budget, out);
  return out;
}

std::string Json(absl::string_view text, size_t budget = 1000) {
  std::string out;
  AppendJsonEscaped(text, budget, out);
  return out;
}

TEST(Escape, LeavesPrintableTextAlone) {
  EXPECT_EQ(Escaped("GET http://h/p?q=%0d%0a HTTP/1.1"), "GET http://h/p?q=%0d%0a HTTP/1.1");
  EXPECT_EQ(Escaped("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"), "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80");
}

TEST(Escape, ALineBreakOrATerminalCommandNeverGetsThrough) {
  EXPECT_EQ(Escaped("a\r\nFAKE 200"), "a\\x0D\\x0AFAKE 200");
  EXPECT_EQ(Escaped("\x1b[2J\x7f"), "\\x1B[2J\\x7F");
  EXPECT_EQ(Escaped("a\"b c\t"), "a\\x22b c\\x09");
  EXPECT_EQ(Escaped("a\\nb"), "a\\x5Cnb");
  EXPECT_EQ(Escaped(absl::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(Escaped("a b", true), "a\\x20b");
}

TEST(Escape, BrokenUtf8IsShownByteByByte) {
  EXPECT_EQ(Escaped("\xff"), "\\xFF");
  EXPECT_EQ(Escaped("\xc3"), "\\xC3");
  EXPECT_EQ(Escaped("\xc0\xaf"), "\\xC0\\xAF");                    // overlong
  EXPECT_EQ(Escaped("\xe0\x80\x80"), "\\xE0\\x80\\x80");           // overlong
  EXPECT_EQ(Escaped("\xed\xa0\x80"), "\\xED\\xA0\\x80");           // surrogate
  EXPECT_EQ(Escaped("\xf4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80");  // above U+10FFFF
  EXPECT_EQ(Escaped("\xe2\x82z"), "\\xE2\\x82z");
}

TEST(Escape, CharactersThatReorderOrHideTextAreShown) {
  EXPECT_EQ(Escaped("\xc2\x85"), "\\xC2\\x85");           // C1: next line
  EXPECT_EQ(Escaped("\xe2\x80\xa8"), "\\xE2\\x80\\xA8");  // line separator
  EXPECT_EQ(Escaped("\xe2\x80\xae"), "\\xE2\\x80\\xAE");  // right-to-left override
  EXPECT_EQ(Escaped("\xef\xbb\xbf"), "\\xEF\\xBB\\xBF");  // byte order mark
}

TEST(Escape, BudgetCutsBetweenCharactersAndEscapes) {
  EXPECT_EQ(Escaped("abcdef", false, 3), "abc");
  EXPECT_EQ(Escaped("a\nb", false, 4), "a");
  EXPECT_EQ(Escaped("a\nb", false, 5), "a\\x0A");
  EXPECT_EQ(Escaped("a\xc3\xbc", false, 2), "a");
  EXPECT_EQ(Escaped("abc", false, 0), "");
  std::string out = "kept";
  EXPECT_FALSE(AppendEscaped("abc", false, 2, out));
  EXPECT_EQ(out, "keptab");
  EXPECT_TRUE(AppendEscaped("c", false, 1, out));
}

TEST(Replace, OnlyTheGivenAndTheUnprintableOnes) {
  EXPECT_EQ(Replaced("a b,c\"d\\", " ,"), "a_b_c\"d\\");
  EXPECT_EQ(Replaced("a\r\nb\x7f", ""), "a__b_");
  EXPECT_EQ(Replaced("\xff\xc3\xbc", ""), "_\xc3\xbc");
  EXPECT_EQ(Replaced("\xe2\x80\xae", "", '.'), "...");
  EXPECT_EQ(Replaced("abcd", "", '_', 2), "ab");
  EXPECT_EQ(Replaced("a\xc3\xbc", "", '_', 2), "a");
}

TEST(JsonEscape, IsAlwaysTheInsideOfAValidString) {
  EXPECT_EQ(Json("a\"b\\c\n\r\t\x01\x7f/"), "a\\\"b\\\\c\\n\\r\\t\\u0001\\u007f/");
  EXPECT_EQ(Json("\xff\xc3\xbc"), "\\ufffd\xc3\xbc");
  EXPECT_EQ(Json("\xe2\x80\xa8"), "\\u2028");
  EXPECT_EQ(Json("a\"", 2), "a");
  EXPECT_EQ(Json("\xf0\x9f\x98\x80", 3), "");
}

// Whatever two bytes arrive, no form lets a byte under 0x20, a DEL or a bare quote through.
TEST(Escape, EveryPairOfBytesIsSafe) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const char pair[2] = {static_cast<char>(a), static_cast<char>(b)};
      const absl::string_view text(pair, 2);
      for (const std::string& out : {Escaped(text, true), Replaced(text, " \""), Json(text)}) {
        for (const char c : out) {
          ASSERT_TRUE(static_cast<uint8_t>(c) >= 0x20 && c != 0x7f) << a << " " << b << " " << out;
        }
      }
      ASSERT_EQ(Escaped(text, true).find_first_of(" \""), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace sluice::accounting
