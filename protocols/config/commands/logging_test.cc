#include "protocols/config/commands/logging.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protocols/config/testing/build_text.h"
#include "protocols/service/snapshot.h"

namespace sluice::config {
namespace {

using service::LogOptions;
using ::testing::HasSubstr;

LogOptions With(const std::string& settings) { return ServiceOf(settings + "\n" + kSomeService).log; }

TEST(LoggingTest, NothingIsLoggedUnlessSaid) { EXPECT_EQ(With("").target, LogOptions::Target::kNone); }

TEST(LoggingTest, Targets) {
  EXPECT_EQ(With("log").target, LogOptions::Target::kStdout);
  EXPECT_EQ(With("log /dev/stdout").target, LogOptions::Target::kStdout);
  EXPECT_EQ(With("log /dev/null").target, LogOptions::Target::kDevNull);
  EXPECT_EQ(With("log @me").target, LogOptions::Target::kSyslog);
  EXPECT_EQ(With("log @me").name, "me");
  EXPECT_EQ(With("log relative/file").target, LogOptions::Target::kFile);
  EXPECT_EQ(With("log relative/file").name, "relative/file");
  EXPECT_EQ(With("log ./radius").name, "./radius");
}

TEST(LoggingTest, TemplatesKeepTheirZone) {
  EXPECT_EQ(With("log L/var/log/%Y%m%d.log D").name, "L/var/log/%Y%m%d.log");
  EXPECT_THAT(Said("log /var/log/%Q.log\n"), HasSubstr("is no place for records: %Q in the log's file name"));
}

TEST(LoggingTest, RotationInEitherCase) {
  for (const char letter : std::string("cHDWMY")) {
    EXPECT_EQ(With(std::string("log f ") + letter).rotation, letter);
    EXPECT_EQ(With(std::string("log f ") + static_cast<char>(letter ^ 0x20)).rotation, letter);
  }
  EXPECT_EQ(With("log f").rotation, 0);
  // A new target takes the rotation of the old one back.
  EXPECT_EQ(With("log f D\nlog g").rotation, 0);
}

TEST(LoggingTest, FormatAndRotateStayOverTargets) {
  const LogOptions log = With("rotate 30\nlogformat \"L%t %E\"\nlog f D\nlog g D");
  EXPECT_EQ(log.keep_rotated, 30);
  EXPECT_EQ(log.format, "L%t %E");
  EXPECT_EQ(With("logformat json").format, "json");
}

TEST(LoggingTest, ABadLineLeavesTheTargetAsItWas) {
  EXPECT_THAT(Said("log f X\n"), HasSubstr("'X' is no rotation"));
  EXPECT_THAT(Said("log @\n"), HasSubstr("'@' is no place for records: a syslog name"));
  EXPECT_THAT(Said("log &dsn\n"), HasSubstr("'&dsn' is no place for records: log to a database (&) is not built in"));
  EXPECT_THAT(Said("log radius\n"), HasSubstr("'radius' is no place for records: log radius"));
  EXPECT_THAT(Said("log \"\"\n"), HasSubstr("the name is empty"));
  EXPECT_THAT(Said("logformat \"%Y\"\n"), HasSubstr("'%Y' is no log format: "));
}

TEST(LoggingTest, LogAfterItsServiceIsWarnedOf) {
  EXPECT_THAT(Said(std::string(kSomeService) + "log\n"), HasSubstr("test.cfg:2: warning: log: has no effect"));
}

TEST(LoggingTest, Logdump) {
  const auto relay = ServiceOf(std::string("logdump 1000 2000\n") + kSomeService).relay;
  EXPECT_EQ(relay.report_bytes_from_upstream, 1000);
  EXPECT_EQ(relay.report_bytes_from_client, 2000);
}

}  // namespace
}  // namespace sluice::config
