#include "bench/tool/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::bench {
namespace {

using ::testing::HasSubstr;

TEST(ArgumentsTest, ReadsBothForms) {
  Arguments arguments({"--open", "12", "--rate=2.5", "--json", "--proxy", "127.0.0.1:3128", "--origin=[::1]:80"});
  EXPECT_EQ(arguments.Int("open", 1, 1, 100), 12);
  EXPECT_EQ(arguments.Number("rate", 0, 0, 10), 2.5);
  EXPECT_EQ(arguments.Int("active", 7, 1, 100), 7);
  EXPECT_EQ(arguments.Text("via", "none"), "none");
  EXPECT_TRUE(arguments.Flag("json"));
  EXPECT_FALSE(arguments.Flag("quiet"));
  EXPECT_EQ(arguments.Address("proxy").ToString(), "127.0.0.1:3128");
  EXPECT_EQ(arguments.Address("origin").ToString(), "[::1]:80");
  EXPECT_EQ(arguments.Address("other").family(), sys::AddressFamily::kNone);
  EXPECT_TRUE(arguments.Finish().ok());
}

std::string FaultOf(std::vector<std::string> words) {
  Arguments arguments(std::move(words));
  arguments.Int("open", 1, 1, 100);
  arguments.Number("rate", 0, 0, 10);
  arguments.Address("proxy");
  arguments.Flag("json");
  return std::string(arguments.Finish().message());
}

TEST(ArgumentsTest, SaysWhatIsWrong) {
  EXPECT_EQ(FaultOf({}), "");
  EXPECT_EQ(FaultOf({"--open"}), "--open needs a value");
  EXPECT_EQ(FaultOf({"--open", "1", "--open=2"}), "--open is given twice");
  for (const char* bad : {"0", "101", "-1", "", "x", "1x", "1.5", "99999999999999999999"}) {
    EXPECT_EQ(FaultOf({"--open", bad}), std::string("--open ") + bad + ": a whole number from 1 to 100 is needed");
  }
  for (const char* bad : {"", "nan", "-1", "11", "1s"}) {
    EXPECT_THAT(FaultOf({"--rate", bad}), HasSubstr("a number from 0 to 10 is needed")) << bad;
  }
  for (const char* bad : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "localhost:80", ":80", "::1:80", "[::1]"}) {
    EXPECT_THAT(FaultOf({"--proxy", bad}), HasSubstr("ADDRESS:PORT is needed")) << bad;
  }
  EXPECT_EQ(FaultOf({"--jason"}), "unknown argument: --jason; there are --open --rate --proxy --json");
  EXPECT_THAT(FaultOf({"--json=1"}), HasSubstr("unknown argument: --json=1"));
  EXPECT_THAT(FaultOf({"word"}), HasSubstr("unknown argument: word"));
}

TEST(ArgumentsTest, TheFirstFaultIsTold) {
  EXPECT_EQ(FaultOf({"--open", "0", "--rate", "x"}), "--open 0: a whole number from 1 to 100 is needed");
}

}  // namespace
}  // namespace sluice::bench
