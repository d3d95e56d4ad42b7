#include "protocols/http/authority.h"

#include "gtest/gtest.h"

namespace sluice::http {
namespace {

std::string Parsed(absl::string_view text, uint16_t default_port) {
  Authority authority;
  return ParseAuthority(text, default_port, authority) ? authority.ToString(0) : "bad";
}

TEST(ParseAuthority, TakesNamesAndAddresses) {
  EXPECT_EQ(Parsed("example.test", 80), "example.test:80");
  EXPECT_EQ(Parsed("Example_1.test:8080", 80), "Example_1.test:8080");
  EXPECT_EQ(Parsed("127.0.0.1:1", 0), "127.0.0.1:1");
  EXPECT_EQ(Parsed("[::1]:443", 0), "[::1]:443");
  EXPECT_EQ(Parsed("[2001:db8::2]", 80), "[2001:db8::2]:80");
  EXPECT_EQ(Parsed("a:65535", 0), "a:65535");
}

TEST(ParseAuthority, RefusesPortsThatAreNone) {
  for (const char* bad : {"o:65616", "o:65536", "o:0", "o:-1", "o:+1", "o:443x", "o:", "o: 80", "o:000080", "o:1:2"}) {
    EXPECT_EQ(Parsed(bad, 80), "bad") << bad;
  }
  EXPECT_EQ(Parsed("o", 0), "bad");
  EXPECT_EQ(Parsed("[::1]", 0), "bad");
}

TEST(ParseAuthority, RefusesHostsThatAreNone) {
  for (const char* bad : {"",
                          ":80",
                          "[::1",
                          "::1:443",
                          "::1",
                          "[]:80",
                          "[127.0.0.1]:80",
                          "[fe80::1%25lo]:80",
                          "[fe80::1%lo]:80",
                          "http://o:443",
                          "o:443/",
                          "a,b",
                          "a b",
                          "a/../",
                          "u@h",
                          "u:p@h:80",
                          "a\tb",
                          "h#",
                          "h?",
                          "h%41",
                          "[::1]x:80",
                          "[::1]80",
                          "\xc3\xa4",
                          "a\\b",
                          "[::1]]:80"}) {
    EXPECT_EQ(Parsed(bad, 80), "bad") << bad;
  }
  EXPECT_EQ(Parsed(std::string(256, 'a'), 80), "bad");
  EXPECT_EQ(Parsed(absl::string_view("a\0b", 3), 80), "bad");
}

TEST(Authority, IsWrittenWithoutTheDefaultPort) {
  Authority authority;
  ASSERT_TRUE(ParseAuthority("[::1]", 80, authority));
  EXPECT_EQ(authority.ToString(80), "[::1]");
  EXPECT_EQ(authority.ToString(443), "[::1]:80");
}

}  // namespace
}  // namespace sluice::http
