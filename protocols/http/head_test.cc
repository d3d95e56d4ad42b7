#include "protocols/http/head.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace sluice::http {
namespace {

using State = HeadScanner::State;

struct Scanned {
  State state;
  size_t end;
  size_t leading;
  int status;
};

Scanned ScanIn(const std::string& bytes, size_t piece) {
  HeadScanner scanner;
  State state = State::kMore;
  for (size_t size = std::min(piece, bytes.size()); state == State::kMore;
       size = std::min(size + piece, bytes.size())) {
    state = scanner.Scan(absl::string_view(bytes).substr(0, size));
    if (size == bytes.size()) break;
  }
  return {state, state == State::kWhole ? scanner.end() : 0, scanner.leading_bytes(), scanner.error().status};
}

Scanned Scan(const std::string& bytes) { return ScanIn(bytes, bytes.size()); }

TEST(HeadScanner, FindsTheEndHoweverTheBytesAreCut) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\nX: \t\x80\r\n\r\n";
  for (size_t piece = 1; piece <= head.size(); ++piece) {
    const Scanned scanned = ScanIn(head + "body", piece);
    EXPECT_EQ(scanned.state, State::kWhole) << piece;
    EXPECT_EQ(scanned.end, head.size()) << piece;
  }
}

TEST(HeadScanner, WantsMoreUntilTheEmptyLine) {
  for (const char* head : {"", "G", "GET / HTTP/1.1", "GET / HTTP/1.1\r", "GET / HTTP/1.1\r\n", "A\r\nB: c\r\n\r"}) {
    EXPECT_EQ(Scan(head).state, State::kMore) << head;
  }
}

TEST(HeadScanner, PassesOverAFewEmptyLinesInFront) {
  const Scanned scanned = Scan("\r\n\r\nGET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(scanned.state, State::kWhole);
  EXPECT_EQ(scanned.leading, 4u);
  std::string many;
  for (int i = 0; i < 5; ++i) many += "\r\n";
  EXPECT_EQ(Scan(many).status, 400);
}

TEST(HeadScanner, RefusesWhatAnotherReaderCouldTakeForALineEnd) {
  const std::string nul(1, '\0');
  for (const std::string& bad :
       {std::string("GET / HTTP/1.1\n"), std::string("A: b\rc"), "A: b" + nul, std::string("A\x7f: 1"),
        std::string("A: \x0b"), std::string("A: \x1b[0m"), std::string("A\r\n\n"), std::string("A\r\r\n")}) {
    for (size_t piece = 1; piece <= bad.size(); ++piece) EXPECT_EQ(ScanIn(bad, piece).status, 400) << bad << piece;
  }
}

TEST(HeadScanner, BoundsLineAndHead) {
  const std::string line(kMostHeadBytes + 1, 'a');
  EXPECT_EQ(Scan(line).status, 414);
  EXPECT_EQ(ScanIn(line, 1000).status, 414);
  EXPECT_EQ(Scan("GET / HTTP/1.1\r\nA: " + line).status, 431);
  // The longest head that is taken, to the byte.
  const std::string start = "GET / HTTP/1.1\r\nA: ";
  const std::string longest = start + std::string(kMostHeadBytes - start.size() - 4, 'a') + "\r\n\r\n";
  EXPECT_EQ(longest.size(), kMostHeadBytes);
  EXPECT_EQ(Scan(longest).state, State::kWhole);
  EXPECT_EQ(ScanIn(longest, 777).state, State::kWhole);
  EXPECT_EQ(Scan(start + "a" + longest.substr(start.size())).status, 431);
}

int StatusOf(absl::string_view lines) {
  Fields fields;
  return ParseFields(lines, fields).status;
}

TEST(ParseFields, SplitsNamesAndValues) {
  Fields fields;
  ASSERT_TRUE(ParseFields("A:b\r\nC-D: \t e f \t\r\nE:\r\n\r\n", fields).ok());
  ASSERT_EQ(fields.size(), 3u);
  EXPECT_EQ(fields[0].name, "A");
  EXPECT_EQ(fields[0].value, "b");
  EXPECT_EQ(fields[1].name, "C-D");
  EXPECT_EQ(fields[1].value, "e f");
  EXPECT_EQ(fields[2].value, "");
}

TEST(ParseFields, RefusesEachWayToHideAField) {
  EXPECT_EQ(StatusOf(": v\r\n"), 400);
  EXPECT_EQ(StatusOf("Host : x\r\n"), 400);
  EXPECT_EQ(StatusOf("Host\t: x\r\n"), 400);
  EXPECT_EQ(StatusOf(" A: leading\r\n"), 400);
  EXPECT_EQ(StatusOf("Transfer-Encoding:\r\n chunked\r\n"), 400);
  EXPECT_EQ(StatusOf("A: b\r\n\tc\r\n"), 400);
  EXPECT_EQ(StatusOf("no colon\r\n"), 400);
  EXPECT_EQ(StatusOf("NoColon\r\n"), 400);
  EXPECT_EQ(StatusOf("B\xc3\xa4r: 1\r\n"), 400);
  EXPECT_EQ(StatusOf("A(b): 1\r\n"), 400);
}

TEST(ParseFields, BoundsTheirNumber) {
  std::string lines;
  for (size_t i = 0; i < kMostFields; ++i) absl::StrAppend(&lines, "A: b\r\n");
  EXPECT_EQ(StatusOf(lines), 0);
  EXPECT_EQ(StatusOf(lines + "A: b\r\n"), 431);
}

TEST(ForEachListElement, SkipsBlanksAndEmptyElements) {
  std::string seen;
  ForEachListElement(" a ,, \tb,c\t,", [&](absl::string_view element) { absl::StrAppend(&seen, "[", element, "]"); });
  EXPECT_EQ(seen, "[a][b][c]");
}

}  // namespace
}  // namespace sluice::http
