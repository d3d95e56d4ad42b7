#include "protocols/accounting/log_target.h"

#include <stdlib.h>
#include <time.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace sluice::accounting {
namespace {

using Kind = LogTarget::Kind;

LogTarget Parsed(absl::string_view name, absl::string_view rotation = "", int keep = 0) {
  const auto target = LogTarget::Parse(name, rotation, keep);
  EXPECT_TRUE(target.ok()) << target.status();
  return target.ok() ? *target : LogTarget();
}

class LogTargetTest : public testing::Test {
 protected:
  void SetUp() override { Zone("UTC0"); }
  void TearDown() override {
    ::unsetenv("TZ");
    ::tzset();
  }
  static void Zone(const char* name) {
    ::setenv("TZ", name, 1);
    ::tzset();
  }

  static constexpr int64_t kWednesday = 1709708889;  // 2024-03-06 07:08:09 UTC
};

TEST_F(LogTargetTest, Words) {
  EXPECT_EQ(Parsed("").kind, Kind::kStdout);
  EXPECT_EQ(Parsed("/dev/stdout").kind, Kind::kStdout);
  EXPECT_EQ(Parsed("/dev/null").kind, Kind::kDiscard);
  EXPECT_EQ(Parsed("@proxy").kind, Kind::kSyslog);
  EXPECT_EQ(Parsed("@proxy").name, "proxy");
  const LogTarget file = Parsed("/var/log/proxy", "D", 7);
  EXPECT_EQ(file.kind, Kind::kFile);
  EXPECT_EQ(file.name, "/var/log/proxy");
  EXPECT_EQ(file.rotation, Rotation::kDay);
  EXPECT_EQ(file.keep, 7);
  EXPECT_EQ(file, Parsed("/var/log/proxy", "d", 7));
  EXPECT_FALSE(file == Parsed("/var/log/proxy", "H", 7));
}

TEST_F(LogTargetTest, WhatCannotBeIsSaid) {
  const std::pair<std::pair<std::string, const char*>, const char*> rows[] = {
      {{"&dsn,user,password", ""}, "database"},
      {{"radius", ""}, "RADIUS"},
      {{"/log", "X"}, "log rotation X"},
      {{"/log", "DD"}, "log rotation DD"},
      {{"@", ""}, "syslog name"},
      {{"@a b", ""}, "syslog name"},
      {{"@" + std::string(49, 'a'), ""}, "syslog name"},
      {{"/log%Q", "D"}, "%Q"},
      {{"/log%", "D"}, "file name"},
      {{std::string("/a\0b", 4), ""}, "NUL"},
      {{"/" + std::string(5000, 'a'), ""}, "4095"},
  };
  for (const auto& [words, part] : rows) {
    const auto target = LogTarget::Parse(words.first, words.second, 0);
    ASSERT_FALSE(target.ok()) << words.first;
    EXPECT_TRUE(absl::StrContains(target.status().message(), part)) << target.status();
  }
}

TEST_F(LogTargetTest, SuffixAsPreciseAsThePeriod) {
  const std::pair<const char*, const char*> rows[] = {
      {"", "log"},
      {"c", "log.2024.03.06-07.08"},
      {"H", "log.2024.03.06-07"},
      {"D", "log.2024.03.06"},
      {"W", "log.2024.03.03"},
      {"M", "log.2024.03"},
      {"Y", "log.2024"},
  };
  for (const auto& [letter, name] : rows) EXPECT_EQ(Parsed("log", letter).NameAt(kWednesday), name);
}

TEST_F(LogTargetTest, NamesOfPeriodsBefore) {
  EXPECT_EQ(Parsed("log", "c").NameAt(kWednesday, 9), "log.2024.03.06-06.59");
  EXPECT_EQ(Parsed("log", "H").NameAt(kWednesday, 8), "log.2024.03.05-23");
  EXPECT_EQ(Parsed("log", "D").NameAt(kWednesday, 6), "log.2024.02.29");
  EXPECT_EQ(Parsed("log", "W").NameAt(kWednesday, 1), "log.2024.02.25");
  EXPECT_EQ(Parsed("log", "M").NameAt(kWednesday, 3), "log.2023.12");
  EXPECT_EQ(Parsed("log", "Y").NameAt(kWednesday, 1), "log.2023");
}

TEST_F(LogTargetTest, NextChange) {
  EXPECT_EQ(Parsed("log").NextChange(kWednesday), INT64_MAX);
  EXPECT_EQ(Parsed("log", "c").NextChange(kWednesday), 1709708940);  // 07:09:00
  EXPECT_EQ(Parsed("log", "H").NextChange(kWednesday), 1709712000);  // 08:00
  EXPECT_EQ(Parsed("log", "D").NextChange(kWednesday), 1709769600);  // 7 March
  EXPECT_EQ(Parsed("log", "W").NextChange(kWednesday), 1710028800);  // Sunday 10 March
  EXPECT_EQ(Parsed("log", "M").NextChange(kWednesday), 1711929600);  // 1 April
  EXPECT_EQ(Parsed("log", "Y").NextChange(kWednesday), 1735689600);  // 1 January 2025
}

TEST_F(LogTargetTest, Templates) {
  EXPECT_EQ(Parsed("/l/%Y/%y%m%d-%H%M%S-%o-%t%%.log", "D").NameAt(kWednesday),
            "/l/2024/240306-070809-Mar-1709708889%.log");
  EXPECT_EQ(Parsed("L/l/%d.log", "D").NameAt(kWednesday), "/l/06.log");
  EXPECT_EQ(Parsed("/l/%d.log", "D").NameAt(kWednesday, 1), "/l/05.log");
  EXPECT_EQ(Parsed("Log").NameAt(kWednesday), "Log");  // no %, no zone letter
}

TEST_F(LogTargetTest, LocalTimeUnlessTheTemplateSaysUtc) {
  Zone("XST-12");
  EXPECT_EQ(Parsed("log", "H").NameAt(kWednesday), "log.2024.03.06-19");
  EXPECT_EQ(Parsed("/l/%H", "H").NameAt(kWednesday), "/l/19");
  EXPECT_EQ(Parsed("G/l/%H", "H").NameAt(kWednesday), "/l/07");
  EXPECT_EQ(Parsed("log", "D").NextChange(kWednesday), 1709726400);  // midnight at UTC+12
  EXPECT_EQ(Parsed("G/l/%d", "D").NextChange(kWednesday), 1709769600);
}

TEST_F(LogTargetTest, ADayWithAChangeOfClocksIsOneDay) {
  Zone("CET-1CEST,M3.5.0,M10.5.0/3");
  constexpr int64_t kNoonOf31March = 1711879200;  // 12:00 CEST; that day has 23 hours
  EXPECT_EQ(Parsed("log", "D").NameAt(kNoonOf31March, 1), "log.2024.03.30");
  EXPECT_EQ(Parsed("log", "D").NextChange(kNoonOf31March - 86400), 1711839600);  // 31 March 00:00 CET
  EXPECT_EQ(Parsed("log", "D").NextChange(kNoonOf31March), 1711922400);          // 1 April 00:00 CEST
}

TEST_F(LogTargetTest, Describe) {
  EXPECT_EQ(Parsed("").Describe(), "standard output");
  EXPECT_EQ(Parsed("@x").Describe(), "syslog @x");
  EXPECT_EQ(Parsed("/l/%d", "D").Describe(), "/l/%d");
  EXPECT_EQ(Parsed("/dev/null").Describe(), "/dev/null");
}

}  // namespace
}  // namespace sluice::accounting
