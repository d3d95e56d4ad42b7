#include "protocols/config/commands/data_path.h"

#include <string>

#include "gtest/gtest.h"
#include "relay/relay_options.h"

namespace sluice::config {
namespace {

relay::SpliceOptions Splice(absl::string_view text) {
  relay::SpliceOptions splice;
  EXPECT_TRUE(ParseSplice(text, splice).ok()) << text;
  return splice;
}

TEST(DataPathTest, SpliceModesAreThreeBits) {
  for (const char* mode : {"0", "1", "2", "3", "5", "6", "7"}) {
    const relay::SpliceOptions splice = Splice(mode);
    const int bits = mode[0] - '0';
    EXPECT_EQ(splice.from_upstream, (bits & 1) != 0) << mode;
    EXPECT_EQ(splice.from_client, (bits & 2) != 0) << mode;
    EXPECT_EQ(splice.automatic, (bits & 4) != 0) << mode;
  }
  const relay::SpliceOptions bare = Splice("");
  EXPECT_TRUE(bare.from_upstream && bare.from_client && bare.automatic);
}

TEST(DataPathTest, SpliceTuning) {
  for (const char* text : {"6:1,2,3", ":1,2,3"}) {
    const relay::SpliceOptions splice = Splice(text);
    EXPECT_EQ(splice.min_bytes, 1);
    EXPECT_EQ(splice.streak, 2);
    EXPECT_EQ(splice.small_bytes, 3);
  }
  EXPECT_TRUE(Splice(":1,2,3").from_upstream);
  // A mode without tuning has the default tuning.
  EXPECT_EQ(Splice("3").min_bytes, 16384);
  EXPECT_EQ(Splice("3").streak, 2);
  EXPECT_EQ(Splice("3").small_bytes, 4096);
}

TEST(DataPathTest, BadSplice) {
  for (const char* bad :
       {"4",       "8",       "9",        "10",    "07",  "-1",     "x",      " 7",     ":",      "7:",
        ":1",      ":1,2",    ":1,2,3,4", ":1,2,", ":,,", ":0,2,3", ":1,0,3", ":1,2,0", ":x,2,3", ":1073741825,2,3",
        "7,1,2,3", "4:1,2,3", "7 :1,2,3"}) {
    relay::SpliceOptions splice;
    splice.min_bytes = 12345;
    EXPECT_FALSE(ParseSplice(bad, splice).ok()) << bad;
    EXPECT_EQ(splice.min_bytes, 12345) << bad;
  }
}

TEST(DataPathTest, Grace) {
  relay::GraceOptions grace;
  ASSERT_TRUE(ParseGrace("8000,2,10", grace).ok());
  EXPECT_EQ(grace.traffic_bytes, 8000);
  EXPECT_EQ(grace.reads, 2);
  EXPECT_EQ(grace.delay_millis, 10);
  EXPECT_TRUE(grace.enabled());
  for (const char* bad : {"", "8000", "8000,2", "8000,2,10,1", "0,2,10", "8000,0,10", "8000,2,0", "8000,2,10001",
                          "x,2,10", "8000,2,1.5", " 8000,2,10", "8000, 2,10"}) {
    EXPECT_FALSE(ParseGrace(bad, grace).ok()) << bad;
  }
}

}  // namespace
}  // namespace sluice::config
