#include "sys/net/address_range.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::sys {
namespace {

bool Contains(const std::string& range, const std::string& address) {
  absl::StatusOr<AddressRange> parsed = AddressRange::Parse(range);
  EXPECT_TRUE(parsed.ok()) << range << ": " << parsed.status();
  return parsed.ok() && parsed->Contains(*SocketAddress::ParseIp(address, 80));
}

TEST(AddressRangeTest, OneAddress) {
  EXPECT_TRUE(Contains("192.0.2.1", "192.0.2.1"));
  EXPECT_FALSE(Contains("192.0.2.1", "192.0.2.2"));
  EXPECT_TRUE(Contains("2001:db8::1", "2001:db8::1"));
  EXPECT_FALSE(Contains("2001:db8::1", "2001:db8::2"));
  EXPECT_TRUE(Contains("::ffff:192.0.2.1", "192.0.2.1"));
}

TEST(AddressRangeTest, Prefixes) {
  EXPECT_TRUE(Contains("192.0.2.0/24", "192.0.2.0"));
  EXPECT_TRUE(Contains("192.0.2.0/24", "192.0.2.255"));
  EXPECT_FALSE(Contains("192.0.2.0/24", "192.0.3.0"));
  EXPECT_FALSE(Contains("192.0.2.0/24", "192.0.1.255"));
  EXPECT_TRUE(Contains("192.0.2.77/24", "192.0.2.1"));
  EXPECT_TRUE(Contains("10.64.0.0/10", "10.127.255.255"));
  EXPECT_FALSE(Contains("10.64.0.0/10", "10.128.0.0"));
  EXPECT_TRUE(Contains("0.0.0.0/0", "255.255.255.255"));
  EXPECT_TRUE(Contains("192.0.2.1/32", "192.0.2.1"));
  EXPECT_FALSE(Contains("192.0.2.1/32", "192.0.2.0"));
  EXPECT_TRUE(Contains("2001:db8::/33", "2001:db8:7fff::"));
  EXPECT_FALSE(Contains("2001:db8::/33", "2001:db8:8000::"));
  EXPECT_TRUE(Contains("::/0", "2001:db8::1"));
  EXPECT_TRUE(Contains("::ffff:10.0.0.0/104", "10.255.0.1"));
  EXPECT_FALSE(Contains("::ffff:10.0.0.0/104", "11.0.0.1"));
}

TEST(AddressRangeTest, FromTo) {
  EXPECT_TRUE(Contains("192.0.2.250-192.0.3.5", "192.0.2.250"));
  EXPECT_TRUE(Contains("192.0.2.250-192.0.3.5", "192.0.3.5"));
  EXPECT_FALSE(Contains("192.0.2.250-192.0.3.5", "192.0.3.6"));
  EXPECT_FALSE(Contains("192.0.2.250-192.0.3.5", "192.0.2.249"));
  EXPECT_TRUE(Contains("2001:db8::1-2001:db8::ff", "2001:db8::80"));
}

TEST(AddressRangeTest, FamiliesAreApart) {
  EXPECT_FALSE(Contains("0.0.0.0/0", "::1"));
  EXPECT_FALSE(Contains("::/0", "127.0.0.1"));
  EXPECT_FALSE(AddressRange::Parse("0.0.0.0/0")->Contains(*SocketAddress::ParseUnix("/a")));
  EXPECT_FALSE(AddressRange::Parse("0.0.0.0/0")->Contains(SocketAddress()));
}

TEST(AddressRangeTest, WhatIsNone) {
  for (const char* text : {"",
                           "localhost",
                           "10.0.0",
                           "10.0.0.0/",
                           "10.0.0.0/33",
                           "10.0.0.0/-1",
                           "10.0.0.0/+8",
                           "10.0.0.0/ 8",
                           "10.0.0.0/8x",
                           "10.0.0.0/0008",
                           "10.0.0.0/8/8",
                           "::/129",
                           "::ffff:10.0.0.0/95",
                           "10.0.0.2-10.0.0.1",
                           "10.0.0.1-::1",
                           "10.0.0.1-",
                           "-10.0.0.1",
                           "10.0.0.0/8-10.0.0.1",
                           "10.0.0.1-10.0.0.2/8",
                           "010.0.0.1",
                           "10.0.0.1:80"}) {
    EXPECT_FALSE(AddressRange::Parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace sluice::sys
