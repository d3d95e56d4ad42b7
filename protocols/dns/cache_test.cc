#include "protocols/dns/cache.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace sluice::dns {
namespace {

CachedAnswer Until(sys::MonotonicNanos expires, Outcome outcome = Outcome::kOk) {
  return {outcome, {sys::SocketAddress::Ipv4(0x7f000001, 0)}, expires};
}

TEST(CacheTest, FindsUntilItExpires) {
  Cache cache(10);
  cache.Insert("a", Until(100), 0);
  ASSERT_NE(cache.Find("a", 99), nullptr);
  EXPECT_EQ(cache.Find("a", 99)->addresses.size(), 1u);
  EXPECT_EQ(cache.Find("b", 99), nullptr);
  EXPECT_EQ(cache.Find("a", 100), nullptr);
  EXPECT_EQ(cache.size(), 0u);
}

TEST(CacheTest, WhatExpiresAtOnceIsNotKept) {
  Cache cache(10);
  cache.Insert("a", Until(50), 50);
  EXPECT_EQ(cache.size(), 0u);
  // It takes an older entry away nevertheless.
  cache.Insert("a", Until(100), 50);
  cache.Insert("a", Until(60), 60);
  EXPECT_EQ(cache.Find("a", 61), nullptr);
}

TEST(CacheTest, ReplacesAnEntry) {
  Cache cache(10);
  cache.Insert("a", Until(100), 0);
  cache.Insert("a", Until(200, Outcome::kNotFound), 0);
  EXPECT_EQ(cache.size(), 1u);
  ASSERT_NE(cache.Find("a", 150), nullptr);
  EXPECT_EQ(cache.Find("a", 150)->outcome, Outcome::kNotFound);
}

TEST(CacheTest, TheLeastRecentlyUsedGoesFirst) {
  Cache cache(3);
  for (const char* name : {"a", "b", "c"}) cache.Insert(name, Until(100), 0);
  EXPECT_NE(cache.Find("a", 1), nullptr);
  cache.Insert("d", Until(100), 0);
  EXPECT_EQ(cache.Find("b", 1), nullptr);
  for (const char* name : {"a", "c", "d"}) EXPECT_NE(cache.Find(name, 1), nullptr) << name;
}

TEST(CacheTest, IsBounded) {
  Cache cache(100);
  for (int i = 0; i < 5000; ++i) cache.Insert(absl::StrCat("n", i), Until(100), 0);
  EXPECT_EQ(cache.size(), 100u);
  Cache none(0);
  none.Insert("a", Until(100), 0);
  EXPECT_EQ(none.size(), 0u);
}

TEST(CacheTest, Clears) {
  Cache cache(10);
  cache.Insert("a", Until(100), 0);
  cache.Clear();
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_EQ(cache.Find("a", 1), nullptr);
}

}  // namespace
}  // namespace sluice::dns
