#include "protocols/http/chunked.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace sluice::http {
namespace {

// The decoded data, then "|" and the trailer, then "+" and what stayed behind; or "bad", or "more".
std::string Decode(const std::string& bytes, size_t piece) {
  ChunkReader reader;
  std::string data;
  for (size_t at = 0; at < bytes.size();) {
    const ChunkReader::Piece got = reader.Next(absl::string_view(bytes).substr(at, piece));
    at += got.taken;
    switch (got.kind) {
      case ChunkReader::Kind::kMore:
      case ChunkReader::Kind::kChunk:
        break;
      case ChunkReader::Kind::kData:
        absl::StrAppend(&data, got.data);
        break;
      case ChunkReader::Kind::kEnd:
        return absl::StrCat(data, "|", reader.trailer(), "+", bytes.substr(at));
      case ChunkReader::Kind::kBad:
        return "bad";
    }
  }
  return "more";
}

std::string Decode(const std::string& bytes) {
  const std::string whole = Decode(bytes, bytes.size());
  for (size_t piece = 1; piece < bytes.size() && piece < 40; ++piece) EXPECT_EQ(Decode(bytes, piece), whole) << piece;
  return whole;
}

TEST(ChunkReader, ReadsWhatIsWellFormed) {
  EXPECT_EQ(Decode("5\r\nhello\r\n0\r\n\r\n"), "hello|+");
  EXPECT_EQ(Decode("5;a=b\r\nhello\r\n0\r\n\r\n"), "hello|+");
  EXPECT_EQ(Decode("5 \r\nhello\r\n0\r\n\r\n"), "hello|+");
  EXPECT_EQ(Decode("5 \t;a=\"b;c\"\r\nhello\r\n0;x\r\n\r\n"), "hello|+");
  EXPECT_EQ(Decode("0005\r\nhello\r\n000\r\n\r\n"), "hello|+");
  EXPECT_EQ(Decode("A\r\n0123456789\r\n1\r\n\r\r\n2\r\n\n0\r\n0\r\n\r\n"), "0123456789\r\n0|+");
  EXPECT_EQ(Decode("1\r\nx\r\n0\r\nA: b\r\nC:\r\n\r\n"), "x|A: b\r\nC:\r\n+");
  EXPECT_EQ(Decode("0\r\n\r\nGET / HTTP/1.1"), "|+GET / HTTP/1.1");
}

TEST(ChunkReader, WaitsForWhatIsMissing) {
  for (const char* part : {"5", "5\r", "5\r\n", "5\r\nhel", "5\r\nhello", "5\r\nhello\r\n", "0\r\n", "0\r\n\r",
                           "0\r\nA: b\r\n", "7fffffffffffffff\r\nabc"}) {
    EXPECT_EQ(Decode(part), "more") << part;
  }
}

TEST(ChunkReader, RefusesWhatAnotherReaderCouldReadOtherwise) {
  for (const char* bad : {"5\nhello",
                          "fffffffffffffffff\r\n",
                          "8000000000000000\r\n",
                          "ffffffffffffffff\r\n",
                          "00000000000000005\r\n",
                          "-5\r\n",
                          "+5\r\n",
                          "0x5\r\n",
                          "\r\n",
                          " 5\r\n",
                          "5\rX",
                          "5 5\r\n",
                          "5 a\r\n",
                          "g\r\n",
                          "5;a\nb\r\n",
                          "5\r\nhelloX\r\n",
                          "5\r\nhello\n",
                          "5\r\nhello\rX",
                          "5\r\nhello0\r\n\r\n",
                          "0\r\n\n",
                          "0\r\nA: b\n\r\n",
                          "0\r\nA: b\rc\r\n",
                          ";a\r\n"}) {
    EXPECT_EQ(Decode(bad), "bad") << bad;
  }
  EXPECT_EQ(Decode(std::string("5;\0\r\n", 5)), "bad");
}

TEST(ChunkReader, BoundsExtensionsAndTrailers) {
  EXPECT_EQ(Decode("5;" + std::string(1 << 20, 'a'), 65536), "bad");
  EXPECT_EQ(Decode("0\r\nA: " + std::string(1 << 20, 'a'), 65536), "bad");
  EXPECT_EQ(Decode("5;" + std::string(4000, 'a') + "\r\nhello\r\n0\r\n\r\n", 65536), "hello|+");
}

TEST(ChunkReader, DataMayBeMovedUnseen) {
  ChunkReader reader;
  EXPECT_EQ(reader.data_left(), 0);
  EXPECT_EQ(reader.Next("10\r\n").kind, ChunkReader::Kind::kChunk);
  EXPECT_EQ(reader.data_left(), 16);
  reader.Skip(10);
  EXPECT_EQ(reader.data_left(), 6);
  reader.Skip(6);
  EXPECT_EQ(reader.data_left(), 0);
  EXPECT_EQ(reader.Next("\r\n0\r\n\r\n").kind, ChunkReader::Kind::kEnd);
}

TEST(AppendChunkLine, IsCanonical) {
  std::string out;
  for (const int64_t size : {int64_t{0}, int64_t{10}, int64_t{0x10000}, int64_t{0x7fffffffffffffff}}) {
    AppendChunkLine(size, out);
  }
  EXPECT_EQ(out, "0\r\na\r\n10000\r\n7fffffffffffffff\r\n");
}

}  // namespace
}  // namespace sluice::http
