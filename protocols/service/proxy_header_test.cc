#include "protocols/service/proxy_header.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace sluice::service {
namespace {

using State = ProxyHeaderReader::State;

std::string Head(int version_and_command, int family, int length) {
  std::string head("\r\n\r\n\0\r\nQUIT\n", 12);
  for (const int byte : {version_and_command, family, length >> 8, length & 0xff}) head += static_cast<char>(byte);
  return head;
}

const std::string kFour("\xc0\x00\x02\x09\xc0\x00\x02\x01\x04\x57\x00\x50", 12);  // 192.0.2.9:1111 to 192.0.2.1:80
const std::string kSix = std::string("\x20\x01\x0d\xb8", 4) + std::string(11, '\0') + "\x09" +
                         std::string("\x20\x01\x0d\xb8", 4) + std::string(11, '\0') + "\x01" +
                         std::string("\x04\x57\x00\x50", 4);

struct Outcome {
  State state;
  std::string client;
  size_t taken;
  std::string fault;
};

// In pieces of at most this size, with what a client says behind it.
Outcome Read(const std::string& header, size_t piece, const std::string& behind = "GET / HTTP/1.1\r\n") {
  const std::string stream = header + behind;
  ProxyHeaderReader reader;
  size_t taken = 0;
  while (taken < stream.size() && reader.state() == State::kReading) {
    const absl::string_view bytes = absl::string_view(stream).substr(taken, piece);
    const size_t now = reader.Feed(bytes);
    EXPECT_TRUE(now == bytes.size() || reader.state() != State::kReading);
    taken += now;
  }
  const bool known = reader.client().family() != sys::AddressFamily::kNone;
  return {reader.state(), known ? reader.client().ToString() : "", taken, reader.fault()};
}

TEST(ProxyHeaderTest, WhoseConnectionItIs) {
  const struct {
    std::string header;
    std::string client;  // empty: the sender's own
  } kCases[] = {
      {"PROXY TCP4 192.0.2.9 192.0.2.1 1111 80\r\n", "192.0.2.9:1111"},
      {"PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n", "255.255.255.255:65535"},
      {"PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n", "0.0.0.0:0"},
      {"PROXY TCP6 2001:db8::9 2001:db8::1 1111 80\r\n", "[2001:db8::9]:1111"},
      {"PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
       "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"},
      {"PROXY TCP6 ::ffff:192.0.2.9 ::1 1111 80\r\n", "192.0.2.9:1111"},
      {"PROXY UNKNOWN\r\n", ""},
      {"PROXY UNKNOWN ffff::1 ffff::2 65535 65535\r\n", ""},
      {absl::StrCat("PROXY UNKNOWN ", std::string(91, 'x'), "\r\n"), ""},
      {Head(0x21, 0x11, 12) + kFour, "192.0.2.9:1111"},
      {Head(0x21, 0x21, 36) + kSix, "[2001:db8::9]:1111"},
      {Head(0x21, 0x11, 12 + 7) + kFour + std::string("\x20\x00\x04\x01\x02\x03\x04", 7), "192.0.2.9:1111"},
      {Head(0x21, 0x21, 65535) + kSix + std::string(65535 - 36, '\x04'), "[2001:db8::9]:1111"},
      {Head(0x20, 0x00, 0), ""},           // LOCAL
      {Head(0x20, 0x11, 12) + kFour, ""},  // with an address that is not to be believed
      {Head(0x20, 0xff, 3) + "abc", ""},   // whose family does not count
      {Head(0x21, 0x00, 0), ""},           // unspecified
      {Head(0x21, 0x00, 5) + "abcde", ""},
      {Head(0x21, 0x12, 12) + kFour, ""},                   // datagrams
      {Head(0x21, 0x31, 216) + std::string(216, 'u'), ""},  // unix
      {Head(0x21, 0x31, 0), ""},
  };
  for (const auto& c : kCases) {
    for (const size_t piece : {size_t{1}, size_t{7}, c.header.size(), c.header.size() + 4096}) {
      const Outcome outcome = Read(c.header, piece);
      EXPECT_EQ(outcome.state, State::kComplete) << c.header << ": " << outcome.fault;
      EXPECT_EQ(outcome.client, c.client) << c.header;
      EXPECT_EQ(outcome.taken, c.header.size()) << c.header << " in pieces of " << piece;
    }
  }
}

TEST(ProxyHeaderTest, WhatIsNone) {
  const struct {
    std::string header;
    const char* fault;
  } kCases[] = {
      {"GET / HTTP/1.1\r\n\r\n", "there is none"},
      {"POST / HTTP/1.1\r\n\r\n", "there is none"},
      {"\x05\x01\x00", "there is none"},
      {"\x16\x03\x01", "there is none"},
      {"proxy TCP4 192.0.2.9 192.0.2.1 1111 80\r\n", "there is none"},
      {"PROXYTCP4 192.0.2.9 192.0.2.1 1111 80\r\n", "there is none"},
      {"PROXY TCP4 192.0.2.9 192.0.2.1 1111 80\n", "CR LF"},
      {"PROXY \n", "CR LF"},
      {"PROXY \r\n", "none of TCP4"},
      {"PROXY UDP4 192.0.2.9 192.0.2.1 1111 80\r\n", "none of TCP4"},
      {"PROXY UNKNOWNS\r\n", "none of TCP4"},
      {"PROXY TCP4\r\n", "two addresses"},
      {"PROXY TCP4 192.0.2.9 192.0.2.1 1111\r\n", "two addresses"},
      {"PROXY TCP4 192.0.2.9 192.0.2.1 1111 80 \r\n", "two addresses"},
      {"PROXY  TCP4 192.0.2.9 192.0.2.1 1111 80\r\n", "none of TCP4"},
      {"PROXY TCP4 192.0.2.9  192.0.2.1 1111 80\r\n", "two addresses"},
      {"PROXY TCP4 192.0.2.9 192.0.2.1 65536 80\r\n", "ports"},
      {"PROXY TCP4 192.0.2.9 192.0.2.1 -1 80\r\n", "ports"},
      {"PROXY TCP4 192.0.2.9 192.0.2.1 +1 80\r\n", "ports"},
      {"PROXY TCP4 192.0.2.9 192.0.2.1 01 80\r\n", "ports"},
      {"PROXY TCP4 192.0.2.9 192.0.2.1 1111 \r\n", "ports"},
      {"PROXY TCP4 192.0.2.9 192.0.2.1 1111 080\r\n", "ports"},
      {"PROXY TCP4 192.0.2 192.0.2.1 1111 80\r\n", "addresses is none"},
      {"PROXY TCP4 192.0.2.09 192.0.2.1 1111 80\r\n", "addresses is none"},
      {"PROXY TCP4 a.example 192.0.2.1 1111 80\r\n", "addresses is none"},
      {"PROXY TCP4 2001:db8::9 2001:db8::1 1111 80\r\n", "addresses is none"},
      {"PROXY TCP4 192.0.2.9 2001:db8::1 1111 80\r\n", "addresses is none"},
      {"PROXY TCP6 192.0.2.9 192.0.2.1 1111 80\r\n", "addresses is none"},
      {"PROXY TCP6 [2001:db8::9] 2001:db8::1 1111 80\r\n", "addresses is none"},
      {"PROXY TCP6 fe80::1%1 2001:db8::1 1111 80\r\n", "addresses is none"},
      {std::string("PROXY TCP4 192.0.2.9\0 192.0.2.1 1111 80\r\n", 41), "addresses is none"},
      {absl::StrCat("PROXY UNKNOWN ", std::string(92, 'x'), "\r\n"), "107 bytes"},
      {std::string("\r\n\r\n\0\r\nQUIX", 11), "signature"},
      {"\r\n\r\nGET / HTTP/1.1\r\n", "signature"},
      {Head(0x11, 0x11, 12) + kFour, "version is not 2"},
      {Head(0x31, 0x11, 12) + kFour, "version is not 2"},
      {Head(0x22, 0x11, 12) + kFour, "neither LOCAL nor PROXY"},
      {Head(0x2f, 0x00, 0), "neither LOCAL nor PROXY"},
      {Head(0x21, 0x41, 12) + kFour, "family is unknown"},
      {Head(0x21, 0x13, 12) + kFour, "family is unknown"},
      {Head(0x21, 0x11, 4) + "abcd", "too short"},
      {Head(0x21, 0x11, 11) + kFour, "too short"},
      {Head(0x21, 0x21, 35) + kSix, "too short"},
  };
  for (const auto& c : kCases) {
    for (const size_t piece : {size_t{1}, size_t{5}, size_t{4096}}) {
      const Outcome outcome = Read(c.header, piece, "x");
      EXPECT_EQ(outcome.state, State::kFailed) << c.header;
      EXPECT_NE(outcome.fault.find(c.fault), std::string::npos) << c.header << ": " << outcome.fault;
      EXPECT_EQ(outcome.client, "") << c.header;
    }
  }
}

TEST(ProxyHeaderTest, EveryPartOfOneIsNotYetOne) {
  const std::string kHeaders[] = {"PROXY TCP4 192.0.2.9 192.0.2.1 1111 80\r\n", "PROXY UNKNOWN\r\n",
                                  Head(0x21, 0x11, 16) + kFour + "abcd", Head(0x20, 0x00, 0)};
  for (const std::string& header : kHeaders) {
    for (size_t size = 0; size < header.size(); ++size) {
      ProxyHeaderReader reader;
      EXPECT_EQ(reader.Feed(absl::string_view(header).substr(0, size)), size);
      EXPECT_EQ(reader.state(), State::kReading) << size << " bytes of " << header;
    }
  }
}

}  // namespace
}  // namespace sluice::service
