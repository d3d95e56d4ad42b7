#include "protocols/config/commands/rule_lists.h"

#include <string>

#include "gtest/gtest.h"
#include "protocols/access/operation.h"
#include "protocols/access/rule.h"
#include "sys/net/socket_address.h"

namespace sluice::config {
namespace {

using access::Conditions;
using access::NamePattern;

// "FIRST LAST" or "error".
std::string Range(absl::string_view text) {
  access::AddressRange range;
  if (!ParseAddressRange(text, range).ok()) return "error";
  return range.first.IpText() + " " + range.last.IpText();
}

TEST(RuleListsTest, AddressesRangesAndBlocks) {
  const struct {
    const char* text;
    const char* expected;
  } cases[] = {
      {"192.0.2.1", "192.0.2.1 192.0.2.1"},
      {"192.0.2.1-192.0.2.9", "192.0.2.1 192.0.2.9"},
      {"192.0.2.0/24", "192.0.2.0 192.0.2.255"},
      {"192.0.2.77/24", "192.0.2.0 192.0.2.255"},
      {"192.0.2.77/32", "192.0.2.77 192.0.2.77"},
      {"0.0.0.0/0", "0.0.0.0 255.255.255.255"},
      {"10.0.0.0/9", "10.0.0.0 10.127.255.255"},
      {"::1", "::1 ::1"},
      {"2001:db8::/32", "2001:db8:: 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"},
      {"2001:db8::/127", "2001:db8:: 2001:db8::1"},
      {"::/0", ":: ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
      {"2001:db8::1-2001:db8::ff", "2001:db8::1 2001:db8::ff"},
      // Mapped addresses are IPv4; a block that ends with them ends before.
      {"::ffff:192.0.2.1", "192.0.2.1 192.0.2.1"},
      {"::ffff:192.0.2.0/120", "192.0.2.0 192.0.2.255"},
      {"::ffff:0:0/96", "0.0.0.0 255.255.255.255"},
      {"::/80", ":: ::fffe:ffff:ffff"},
  };
  for (const auto& c : cases) EXPECT_EQ(Range(c.text), c.expected) << c.text;
}

TEST(RuleListsTest, WhatIsNoAddressIsAnError) {
  for (const char* text : {"",
                           "192.0.2",
                           "192.0.2.256",
                           "192.0.2.1/33",
                           "192.0.2.1/-1",
                           "192.0.2.1/",
                           "192.0.2.1/24/8",
                           "/24",
                           "-",
                           "192.0.2.9-192.0.2.1",
                           "192.0.2.1-",
                           "192.0.2.1-::1",
                           "2001:db8::/129",
                           "[::1]",
                           "fe80::1%1",
                           "127.1",
                           "0x7f.1",
                           "010.0.0.1",
                           "::ffff:0:0/95",
                           "host",
                           "192.0.2.1 ",
                           "192.0.2.0/255.255.255.0"}) {
    EXPECT_EQ(Range(text), "error") << text;
  }
}

// "KIND:text", "range", "local", "error".
std::string Target(absl::string_view text) {
  Conditions conditions;
  if (!ParseTargetElement(text, conditions).ok()) return "error";
  if (conditions.target_local) return "local";
  if (!conditions.target_ranges.empty()) return "range";
  const NamePattern& pattern = conditions.target_names.at(0);
  const char* kinds[] = {"exact:", "prefix:", "suffix:", "part:"};
  return kinds[static_cast<int>(pattern.kind)] + pattern.text;
}

TEST(RuleListsTest, Targets) {
  const struct {
    const char* text;
    const char* expected;
  } cases[] = {
      {"local", "local"},
      {"10.0.0.1", "range"},
      {"10.0.0.0/8", "range"},
      {"::1", "range"},
      {"example.com", "exact:example.com"},
      {"Example.COM.", "exact:example.com"},
      {"my-host", "exact:my-host"},
      {"1and1.example", "exact:1and1.example"},
      {"4-you.example", "exact:4-you.example"},
      {"*.example.com", "suffix:.example.com"},
      {"*example.com.", "suffix:example.com"},
      {"www.*", "prefix:www."},
      {"10.*", "prefix:10."},
      {"*.1", "suffix:.1"},
      {"*google*", "part:google"},
      {"*-*", "part:-"},
      {"unix:/run/x", "exact:unix:/run/x"},
      {"unix:/run/*", "prefix:unix:/run/"},
  };
  for (const auto& c : cases) EXPECT_EQ(Target(c.text), c.expected) << c.text;
}

TEST(RuleListsTest, WhatCouldMatchNoTargetIsAnError) {
  for (const char* text : {"",
                           "**",
                           "*",
                           "a*b",
                           "*a*b*",
                           "10.0.0",
                           "10.0.0.300",
                           "1.2.3.4.5",
                           "10.0.0.1-10.0.0",
                           "2001:*",
                           "*:1",
                           "exa mple",
                           "ex/ample",
                           "ex\xc3\xa4mple",
                           "a..b",
                           "127.1",
                           "0x7f.1",
                           "*.",
                           "user@host",
                           "host:80",
                           "[::1]"}) {
    EXPECT_EQ(Target(text), "error") << text;
  }
}

TEST(RuleListsTest, Ports) {
  access::PortSpan span;
  EXPECT_TRUE(ParsePortSpan("80", span).ok());
  EXPECT_EQ(span, (access::PortSpan{80, 80}));
  EXPECT_TRUE(ParsePortSpan("1024-65535", span).ok());
  EXPECT_EQ(span, (access::PortSpan{1024, 65535}));
  for (const char* text : {"", "-", "80-", "-80", "65536", "65616", "80-79", "http", "0x50", "+80", "1-2-3", "8 0"}) {
    EXPECT_FALSE(ParsePortSpan(text, span).ok()) << text;
  }
}

TEST(RuleListsTest, Weekdays) {
  const struct {
    const char* text;
    int bits;  // from Sunday on
  } cases[] = {{"0", 1}, {"7", 1}, {"1-5", 0b0111110}, {"6", 0b1000000}, {"5-7", 0b1100001}, {"0-7", 0b1111111}};
  for (const auto& c : cases) {
    uint8_t weekdays = 0;
    EXPECT_TRUE(ParseWeekdays(c.text, weekdays).ok()) << c.text;
    EXPECT_EQ(weekdays, c.bits) << c.text;
  }
  uint8_t weekdays = 0;
  for (const char* text : {"", "8", "5-1", "mon", "1-", "-", "1-8"})
    EXPECT_FALSE(ParseWeekdays(text, weekdays).ok()) << text;
}

TEST(RuleListsTest, Periods) {
  access::DayPeriod period;
  EXPECT_TRUE(ParseDayPeriod("08:30:15-17:00:00", period).ok());
  EXPECT_EQ(period, (access::DayPeriod{8 * 3600 + 30 * 60 + 15, 17 * 3600}));
  EXPECT_TRUE(ParseDayPeriod("00:00:00-24:00:00", period).ok());
  EXPECT_EQ(period, (access::DayPeriod{0, 86400}));
  for (const char* text : {"", "-", "8:00:00-17:00:00", "08:00-17:00", "08:00:00", "17:00:00-08:00:00",
                           "22:00:00-06:00:00", "08:00:00-08:00:00", "08:60:00-09:00:00", "00:00:00-24:00:01",
                           "00:00:00-25:00:00", "aa:00:00-24:00:00", "08:00:00-17:00:00-18:00:00"}) {
    EXPECT_FALSE(ParseDayPeriod(text, period).ok()) << text;
  }
}

}  // namespace
}  // namespace sluice::config
