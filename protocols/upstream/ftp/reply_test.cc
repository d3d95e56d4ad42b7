#include "protocols/upstream/ftp/reply.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice::upstream {
namespace {

using ::testing::ElementsAre;

// "CODE text" of each reply; "bad" ends the list, "more" is one that is not whole.
std::vector<std::string> RepliesOf(absl::string_view bytes, size_t piece) {
  std::vector<std::string> replies;
  FtpReplyReader reader;
  bool begun = false;
  while (!bytes.empty()) {
    begun = true;
    bytes.remove_prefix(reader.Feed(bytes.substr(0, piece)));
    if (reader.state() == FtpReplyReader::State::kBad) {
      replies.push_back("bad");
      return replies;
    }
    if (reader.state() == FtpReplyReader::State::kWhole) {
      replies.push_back(absl::StrCat(reader.reply().code, " ", reader.reply().text));
      reader = FtpReplyReader();
      begun = false;
    }
  }
  if (begun) replies.push_back("more");
  return replies;
}

// The same in whatever pieces.
std::vector<std::string> RepliesOf(absl::string_view bytes) {
  std::vector<std::string> whole = RepliesOf(bytes, bytes.size() + 1);
  for (const size_t piece : {1, 2, 3, 7}) EXPECT_EQ(RepliesOf(bytes, piece), whole) << piece;
  return whole;
}

TEST(FtpReplyTest, OneLineEach) {
  EXPECT_THAT(RepliesOf("220 hello\r\n331 \r\n230\r\n150 a\r\n226 b\r\n"),
              ElementsAre("220 hello", "331 ", "230 ", "150 a", "226 b"));
  EXPECT_THAT(RepliesOf("220 with LF alone\n200 x\n"), ElementsAre("220 with LF alone", "200 x"));
  EXPECT_THAT(RepliesOf("220 not who"), ElementsAre("more"));
}

TEST(FtpReplyTest, ManyLinesAreOneReply) {
  EXPECT_THAT(RepliesOf("220-a\r\n 220 not the end\r\n220-b\r\n221 nor this\r\n220 end\r\n331 next\r\n"),
              ElementsAre("220 a\n 220 not the end\nb\n221 nor this\nend", "331 next"));
  std::string many;
  for (int i = 0; i < 200; ++i) absl::StrAppend(&many, "230-line ", i, "\r\n");
  const std::vector<std::string> replies = RepliesOf(many + "230 in\r\n");
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_LE(replies[0].size(), FtpReplyReader::kMostTextBytes + 4);
}

TEST(FtpReplyTest, WhatIsNone) {
  for (const char* bad :
       {"hello\r\n", "22 x\r\n", "620 x\r\n", "020 x\r\n", "\r\n", "2200 x\r\n", "HTTP/1.1 400 Bad\r\n", "220_x\r\n"}) {
    EXPECT_THAT(RepliesOf(bad), ElementsAre("bad")) << bad;
  }
}

TEST(FtpReplyTest, LinesAndRepliesHaveLimits) {
  EXPECT_THAT(RepliesOf("220 " + std::string(100'000, 'x') + "\r\n"), ElementsAre("bad"));
  EXPECT_EQ(RepliesOf("220 " + std::string(4000, 'x') + "\r\n").size(), 1u);
  std::string endless;
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&endless, "220-", std::string(100, 'y'), "\r\n");
  EXPECT_THAT(RepliesOf(endless), ElementsAre("bad"));
}

TEST(FtpReplyTest, ControlBytesOfTheTextAreBlanks) {
  EXPECT_THAT(RepliesOf(absl::string_view("220 a\x1b[1m\tb\0c\r\n", 15)), ElementsAre("220 a [1m b c"));
}

TEST(FtpPassiveTest, Extended) {
  EXPECT_EQ(ParseExtendedPassive("Entering Extended Passive Mode (|||6446|)"), 6446);
  EXPECT_EQ(ParseExtendedPassive("(!!!1!)"), 1);
  EXPECT_EQ(ParseExtendedPassive("(|||65535|) and more"), 65535);
  for (const char* bad : {"", "(|||p|)", "(||||)", "(|||0|)", "(|||65536|)", "(|||123456|)", "(||12|)", "(|||12)",
                          "(|||12!)", "|||12|", "(111121)", "(|||-1|)", "(   12 )", "(|||12|"}) {
    EXPECT_FALSE(ParseExtendedPassive(bad).has_value()) << bad;
  }
}

TEST(FtpPassiveTest, SixNumbers) {
  for (const char* good :
       {"Entering Passive Mode (10,0,0,1,1,2)", "=10,0,0,1,1,2", "10,0,0,1,1,2", "(10,0,0,1,1,2", "(10,0,0,1,1,2)."}) {
    const auto passive = ParsePassive(good);
    ASSERT_TRUE(passive.has_value()) << good;
    EXPECT_EQ(passive->address, 0x0a000001u);
    EXPECT_EQ(passive->port, 258);
  }
  for (const char* bad : {"", "none", "(127,0,0,1,0,0)", "(999,1,1,1,1,1)", "(1,2,3,4,5)", "(1,2,3,4,5,256)",
                          "(1,2,3,4,-5,6)", "(1, 2,3,4,5,6)", "(0001,2,3,4,5,6)"}) {
    EXPECT_FALSE(ParsePassive(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace sluice::upstream
