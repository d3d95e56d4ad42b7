#include "protocols/dns/host_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sluice::dns {
namespace {

using ::testing::HasSubstr;

std::string Error(absl::string_view name) { return std::string(ValidateHostName(name).message()); }

TEST(HostNameTest, TakesHostNamesAndLiterals) {
  for (const char* name :
       {"a", "example.com", "example.com.", "EXAMPLE.com", "_sip._tcp.example", "a-b.c", "3com.com", "1.2.3.4.example",
        "xn--bcher-kva.example", "localhost", "127.0.0.1", "::1", "[::1]", "2001:db8::1", "0x.example", "1e9.a1"}) {
    EXPECT_TRUE(ValidateHostName(name).ok()) << name << ": " << ValidateHostName(name);
  }
}

TEST(HostNameTest, RefusesOtherSpellingsOfIpv4Addresses) {
  for (const char* name : {"127.1", "127.0.1", "0", "0x7f.1", "0x7f000001", "0X7F.0.0.1", "2130706433", "017700000001",
                           "010.0.0.1", "127.0.0.01", "256.1.1.1", "1.2.3.4.5", "127.0.0.1.", "0x", "1.2.3.0x",
                           "example.123", "99999999999999999999"}) {
    EXPECT_EQ(ValidateHostName(name).code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(Error(name), HasSubstr("a.b.c.d")) << name;
  }
}

TEST(HostNameTest, RefusesWhatIsNoName) {
  EXPECT_THAT(Error(""), HasSubstr("empty"));
  EXPECT_THAT(Error("."), HasSubstr("empty label"));
  EXPECT_THAT(Error("a..b"), HasSubstr("empty label"));
  EXPECT_THAT(Error(".a"), HasSubstr("empty label"));
  EXPECT_THAT(Error("a.."), HasSubstr("empty label"));
  EXPECT_THAT(Error(absl::string_view("a\0b", 3)), HasSubstr("0x00"));
  EXPECT_THAT(Error("a b"), HasSubstr("0x20"));
  EXPECT_THAT(Error("a\r\nb"), HasSubstr("0x0d"));
  EXPECT_THAT(Error("a\x7f"), HasSubstr("0x7f"));
  EXPECT_THAT(Error("b\xc3\xbc"
                    "cher.example"),
              HasSubstr("xn--"));
  for (const char* name : {"a/b", "user@host", "host:80", "a%41", "a\\.b", "a#b", "a?b", "*", "[::1", "::g"}) {
    EXPECT_FALSE(ValidateHostName(name).ok()) << name;
  }
}

TEST(HostNameTest, MessagesAreShortAndPrintable) {
  const std::string error = Error("\x1b[2J" + std::string(5000, 'x'));
  EXPECT_LT(error.size(), 300u);
  EXPECT_EQ(error.find('\x1b'), std::string::npos);
}

TEST(HostNameTest, LimitsAreThoseOfTheWire) {
  const std::string label(63, 'a');
  EXPECT_TRUE(ValidateHostName(label + ".test").ok());
  EXPECT_THAT(Error(label + "a.test"), HasSubstr("64 bytes"));
  const std::string longest = label + "." + label + "." + label + "." + std::string(61, 'b');  // 253
  EXPECT_TRUE(ValidateHostName(longest).ok());
  EXPECT_TRUE(ValidateHostName(longest + ".").ok());
  EXPECT_THAT(Error(longest + "b"), HasSubstr("254 bytes"));
}

TEST(HostNameTest, NormalisesCaseAndTheTrailingDot) {
  EXPECT_EQ(*NormalizeHostName("ExAmple.COM."), "example.com");
  EXPECT_EQ(*NormalizeHostName("a"), "a");
  EXPECT_FALSE(NormalizeHostName("a b").ok());
}

}  // namespace
}  // namespace sluice::dns
