#include "protocols/http/message_length.h"

#include <string>

#include "gtest/gtest.h"

namespace sluice::http {
namespace {

std::string Read(const std::string& lines, int minor_version = 1) {
  Fields fields;
  if (!ParseFields(lines, fields).ok()) return "no fields";
  DeclaredLength length;
  if (!ReadDeclaredLength(fields, minor_version, length).ok()) return "bad";
  if (length.chunked) return "chunked";
  return length.has_length ? std::to_string(length.bytes) : "none";
}

TEST(ReadDeclaredLength, ReadsEachKind) {
  EXPECT_EQ(Read("A: b\r\n"), "none");
  EXPECT_EQ(Read("Content-Length: 0\r\n"), "0");
  EXPECT_EQ(Read("content-LENGTH:  12 \r\n"), "12");
  EXPECT_EQ(Read("Content-Length: 9223372036854775807\r\n"), "9223372036854775807");
  EXPECT_EQ(Read("Transfer-Encoding: chunked\r\n"), "chunked");
  EXPECT_EQ(Read("TRANSFER-encoding: Chunked\r\n"), "chunked");
}

TEST(ReadDeclaredLength, RefusesLengthsThatAreReadInTwoWays) {
  for (const char* bad : {"", "+2", "-0", "0x2", "2,2", "2,3", "2, 2", "2 2", "2;", "18446744073709551618",
                          "9223372036854775808", "2.0", "1e3", "\xc2\xb2"}) {
    EXPECT_EQ(Read("Content-Length: " + std::string(bad) + "\r\n"), "bad") << bad;
  }
  EXPECT_EQ(Read("Content-Length: 1\r\nContent-Length: 2\r\n"), "bad");
  EXPECT_EQ(Read("Content-Length: 1\r\ncontent-length: 1\r\n"), "bad");
}

TEST(ReadDeclaredLength, RefusesBothFramingsInEitherOrder) {
  EXPECT_EQ(Read("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n"), "bad");
  EXPECT_EQ(Read("transfer-encoding: CHUNKED\r\nCONTENT-LENGTH: 6\r\n"), "bad");
}

TEST(ReadDeclaredLength, RefusesCodingsOtherThanChunked) {
  for (const char* bad : {"", "gzip", "gzip, chunked", "chunked, gzip", "chunked, chunked", "xchunked", "chunked;a=b",
                          "identity", "chunk", "\"chunked\"", "chunked,"}) {
    EXPECT_EQ(Read("Transfer-Encoding: " + std::string(bad) + "\r\n"), "bad") << bad;
  }
  EXPECT_EQ(Read("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), "bad");
  EXPECT_EQ(Read("Transfer-Encoding: chunked\r\n", /*minor_version=*/0), "bad");
}

}  // namespace
}  // namespace sluice::http
