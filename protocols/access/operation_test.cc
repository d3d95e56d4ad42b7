#include "protocols/access/operation.h"

#include "gtest/gtest.h"

namespace sluice::access {
namespace {

TEST(OperationTest, EachHasAName) {
  for (int i = 0; i < kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    EXPECT_EQ(ParseOperation(OperationName(operation)), SetOf(operation)) << OperationName(operation);
  }
}

TEST(OperationTest, Groups) {
  EXPECT_EQ(ParseOperation("HTTPS"), SetOf(Operation::kHttpConnect));
  const OperationSet http = ParseOperation("HTTP").value_or(0);
  EXPECT_NE(http & SetOf(Operation::kHttpOther), 0);
  EXPECT_NE(http & SetOf(Operation::kHttpPut), 0);
  EXPECT_EQ(http & SetOf(Operation::kHttpConnect), 0);
  EXPECT_EQ(http & SetOf(Operation::kFtpGet), 0);
  EXPECT_NE(ParseOperation("FTP").value_or(0) & SetOf(Operation::kFtpData), 0);
}

TEST(OperationTest, NothingElseIsOne) {
  for (const char* word : {"", "http", "GET", "HTTP_", "CONNECT ", "UDP"}) {
    EXPECT_FALSE(ParseOperation(word).has_value()) << word;
  }
}

}  // namespace
}  // namespace sluice::access
