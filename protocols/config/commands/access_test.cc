#include "protocols/config/commands/access.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protocols/config/testing/build_text.h"

namespace sluice::config {
namespace {

using ::testing::HasSubstr;

TEST(AccessTest, WithoutRulesNoneAndIponlyLetEverybodyIn) {
  for (const char* line : {"auth none", "auth iponly", "auth none iponly", "auth iponly\nflush"}) {
    EXPECT_NE(SnapshotOf(absl::StrCat(line, "\n", kSomeService)), nullptr) << line;
  }
}

// What would check somebody and cannot is never accepted.
TEST(AccessTest, WhatIsNotEnforcedIsAnError) {
  for (const char* type : {"strong", "useronly", "dnsname", "cache", "cacheacl", "radius"}) {
    EXPECT_THAT(Said(absl::StrCat("auth iponly ", type, "\n", kSomeService)),
                HasSubstr(absl::StrCat("test.cfg:1: error: auth: '", type, "' is not built yet")));
  }
  for (const char* line : {"allow *", "deny *", "users a:CL:b", "parent 1000 socks5 192.0.2.1 1080", "connlim 1 0"}) {
    EXPECT_EQ(BuildText(absl::StrCat(line, "\n", kSomeService)).snapshot, nullptr) << line;
  }
}

TEST(AccessTest, UnknownTypes) {
  EXPECT_THAT(Said("auth stong\n"), HasSubstr("did you mean strong?"));
  EXPECT_THAT(Said("auth nbname\n"), HasSubstr("is not supported, "));
}

}  // namespace
}  // namespace sluice::config
