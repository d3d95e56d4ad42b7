#include "relay/rest_buffer.h"

#include <cstring>
#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace sluice::relay {
namespace {

TEST(RestBufferTest, KeepsACopyAndGivesItByParts) {
  int64_t total = 0;
  RestBuffer rest;
  EXPECT_TRUE(rest.empty());
  EXPECT_EQ(rest.size(), 0u);
  {
    std::string bytes = "hello world";
    ASSERT_TRUE(rest.Keep(bytes.data(), static_cast<uint32_t>(bytes.size()), &total));
    bytes.assign(11, 'x');
  }
  EXPECT_EQ(total, 11);
  EXPECT_EQ(std::string(rest.bytes(), rest.size()), "hello world");
  rest.Consume(6);
  EXPECT_EQ(std::string(rest.bytes(), rest.size()), "world");
  EXPECT_EQ(total, 11) << "the block is held whole until its last byte is gone";
  rest.Consume(5);
  EXPECT_TRUE(rest.empty());
  EXPECT_EQ(total, 0);
}

TEST(RestBufferTest, GivesItsBytesBackWhenClearedMovedOrDestroyed) {
  int64_t total = 0;
  {
    RestBuffer a;
    ASSERT_TRUE(a.Keep("abc", 3, &total));
    RestBuffer b(std::move(a));
    EXPECT_TRUE(a.empty());
    EXPECT_EQ(b.size(), 3u);
    RestBuffer c;
    ASSERT_TRUE(c.Keep("defg", 4, &total));
    c = std::move(b);
    EXPECT_EQ(std::string(c.bytes(), c.size()), "abc");
    EXPECT_EQ(total, 7);
    c.Clear();
    EXPECT_EQ(total, 4);
    c.Clear();
  }
  EXPECT_EQ(total, 0);
}

TEST(RestBufferTest, LentBytesAreGivenBackOrGetMemoryOfTheirOwn) {
  int64_t lent_total = 0;
  int64_t total = 0;
  alignas(RestBuffer::kAlignment) char area[RestBuffer::kHeaderBytes + 5];
  std::memcpy(area + RestBuffer::kHeaderBytes, "hello", 5);
  RestBuffer rest;
  EXPECT_FALSE(rest.lent());
  rest.Lend(area, 5, &lent_total);
  EXPECT_TRUE(rest.lent());
  EXPECT_EQ(lent_total, 5);
  EXPECT_EQ(rest.bytes(), area + RestBuffer::kHeaderBytes) << "no copy is made";
  rest.Consume(1);
  ASSERT_TRUE(rest.Own(&total));
  EXPECT_FALSE(rest.lent());
  EXPECT_EQ(lent_total, 0);
  EXPECT_EQ(total, 4);
  std::memset(area, 'x', sizeof area);
  EXPECT_EQ(std::string(rest.bytes(), rest.size()), "ello");
  rest.Clear();
  EXPECT_EQ(total, 0);

  rest.Lend(area, 5, &lent_total);
  rest.Consume(5);
  EXPECT_TRUE(rest.empty());
  EXPECT_EQ(lent_total, 0);
}

}  // namespace
}  // namespace sluice::relay
