#include "protocols/config/values.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sys/net/socket_address.h"

namespace sluice::config {
namespace {

TEST(ValuesTest, Integers) {
  EXPECT_EQ(ParseInteger("0", 0, 10), 0);
  EXPECT_EQ(ParseInteger("10", 0, 10), 10);
  EXPECT_EQ(ParseInteger("007", 0, 10), 7);
  EXPECT_EQ(ParseInteger("9223372036854775807", 0, INT64_MAX), INT64_MAX);
  for (const char* bad :
       {"", "11", "-1", "+1", " 1", "1 ", "1x", "0x1", "1.0", "9223372036854775808", "99999999999999999999999999"}) {
    EXPECT_EQ(ParseInteger(bad, 0, 10), std::nullopt) << bad;
  }
}

TEST(ValuesTest, LocalAddresses) {
  EXPECT_EQ(ParseLocalAddress("192.0.2.1", false)->IpText(), "192.0.2.1");
  EXPECT_EQ(ParseLocalAddress("[2001:db8::1]", false)->IpText(), "2001:db8::1");
  EXPECT_EQ(ParseLocalAddress("unix:/a b", true)->ToString(), "unix:/a b");
  EXPECT_EQ(ParseLocalAddress("unix:@a", true)->ToString(), "unix:@a");
  EXPECT_FALSE(ParseLocalAddress("unix:/a", false).ok());
  for (const char* bad : {"", "localhost", "192.0.2.1:80", "/a", "@a", "unix:", "unix:a", "1.2.3", "0x7f000001"}) {
    EXPECT_FALSE(ParseLocalAddress(bad, true).ok()) << bad;
  }
  EXPECT_TRUE(ParseLocalAddress("unix:/" + std::string(106, 'x'), true).ok());
  EXPECT_FALSE(ParseLocalAddress("unix:/" + std::string(107, 'x'), true).ok());
}

TEST(ValuesTest, AddressesWithPorts) {
  EXPECT_EQ(ParseAddressAndPort("192.0.2.1", 53)->ToString(), "192.0.2.1:53");
  EXPECT_EQ(ParseAddressAndPort("192.0.2.1:5353", 53)->ToString(), "192.0.2.1:5353");
  EXPECT_EQ(ParseAddressAndPort("2001:db8::1", 53)->ToString(), "[2001:db8::1]:53");
  EXPECT_EQ(ParseAddressAndPort("[2001:db8::1]", 53)->ToString(), "[2001:db8::1]:53");
  EXPECT_EQ(ParseAddressAndPort("[2001:db8::1]:5353", 53)->ToString(), "[2001:db8::1]:5353");
  for (const char* bad : {"", ":", ":53", "192.0.2.1:", "192.0.2.1:0", "192.0.2.1:65536", "192.0.2.1:x", "a:53",
                          "[2001:db8::1]x", "[2001:db8::1]:", "]:53", "1.2.3.4:5:6"}) {
    EXPECT_FALSE(ParseAddressAndPort(bad, 53).ok()) << bad;
  }
}

// The rules are those of dns/host_name.h.
TEST(ValuesTest, HostsWithPorts) {
  const auto parsed = [](absl::string_view text) {
    const absl::StatusOr<HostAndPort> result = ParseHostAndPort(text, 80);
    return result.ok() ? absl::StrCat(result->host, " ", result->port) : "";
  };
  EXPECT_EQ(parsed("example.com"), "example.com 80");
  EXPECT_EQ(parsed("example.com:8080"), "example.com 8080");
  EXPECT_EQ(parsed("192.0.2.1"), "192.0.2.1 80");
  EXPECT_EQ(parsed("192.0.2.1:81"), "192.0.2.1 81");
  EXPECT_EQ(parsed("2001:db8::1"), "2001:db8::1 80");
  EXPECT_EQ(parsed("[2001:db8::1]:8080"), "2001:db8::1 8080");
  for (const char* bad : {"", ":80", "a:", "a:0", "a:65536", "a:80:", "http://a/", "a b", "0.0.0.0", "::", "[::1]:0",
                          "1.2.3.4:0", "[a]", "a/b"}) {
    EXPECT_EQ(parsed(bad), "") << bad;
  }
}

TEST(ValuesTest, HostNames) {
  for (const char* good : {"a", "example.com", "example.com.", "xn--bcher-kva.example", "_x.example.com", "1.a"}) {
    EXPECT_TRUE(CheckHostName(good).ok()) << good;
  }
  for (const char* bad : {"", ".", "a..b", "a b", "a/b", "a:80", "127.1", "0x7f", "256.1.1.1", "192.0.2.1", "::1",
                          "[::1]", "\x1b", "*.example.com"}) {
    EXPECT_FALSE(CheckHostName(bad).ok()) << bad;
  }
}

TEST(ValuesTest, InterfaceNames) {
  for (const char* good : {"lo", "eth0", "wlan0.1", "a-23456789012345"}) {
    EXPECT_EQ(CheckInterfaceName(good).ok(), std::string(good).size() <= 15) << good;
  }
  for (const char* bad : {"", ".", "..", "a b", "a/b", "a:1", "a\t"}) EXPECT_FALSE(CheckInterfaceName(bad).ok()) << bad;
}

TEST(ValuesTest, EditDistances) {
  EXPECT_EQ(EditDistance("", ""), 0);
  EXPECT_EQ(EditDistance("abc", "abc"), 0);
  EXPECT_EQ(EditDistance("abc", "ABC"), 0);
  EXPECT_EQ(EditDistance("abc", ""), 3);
  EXPECT_EQ(EditDistance("abc", "abxc"), 1);
  EXPECT_EQ(EditDistance("abc", "acb"), 1);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance(std::string(1000, 'a'), "a"), 64);
}

TEST(ValuesTest, NearestWords) {
  const std::vector<std::string> words = {"maxconn", "log", "logformat", "auth"};
  const auto nearest = [&](absl::string_view word) {
    return Nearest(word, words, [](const std::string& s) { return absl::string_view(s); });
  };
  EXPECT_EQ(nearest("maxcon"), "maxconn");
  EXPECT_EQ(nearest("LOG"), "log");
  EXPECT_EQ(nearest("lgo"), "log");
  EXPECT_EQ(nearest("logfromat"), "logformat");
  EXPECT_EQ(nearest("xyz"), "");
  EXPECT_EQ(nearest("x"), "");
}

}  // namespace
}  // namespace sluice::config
