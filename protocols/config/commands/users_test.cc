#include "protocols/config/commands/users.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protocols/auth/password.h"
#include "protocols/auth/user_table.h"
#include "protocols/config/testing/build_text.h"

namespace sluice::config {
namespace {

using ::testing::HasSubstr;

bool LetsIn(const std::string& line, const std::string& name, const std::string& password) {
  const auto snapshot = SnapshotOf(absl::StrCat(line, "\n", kSomeService));
  if (snapshot == nullptr) return false;
  const auth::Password* known = snapshot->users->Find(name);
  return known != nullptr && known->Matches(password);
}

TEST(UsersTest, TypesOfPasswords) {
  EXPECT_TRUE(LetsIn("users alice:CL:secret", "alice", "secret"));
  EXPECT_TRUE(LetsIn("users alice:secret", "alice", "secret"));
  EXPECT_TRUE(LetsIn("users alice:p:w", "alice", "p:w"));
  EXPECT_TRUE(LetsIn("users \"alice:CL:p:w d\"", "alice", "p:w d"));
  EXPECT_TRUE(LetsIn("users alice:CL:CL:x", "alice", "CL:x"));
  EXPECT_TRUE(LetsIn("users \"alice:CR:$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/\"", "alice", "password"));
  EXPECT_TRUE(LetsIn("users alice:NT:8846f7eaee8fb117ad06bdd830b7586c", "alice", "password"));
  EXPECT_FALSE(LetsIn("users alice:CL:secret", "Alice", "secret"));
  EXPECT_FALSE(LetsIn("users alice:CL:secret", "alice", "Secret"));
}

TEST(UsersTest, OneTableForAllServices) {
  const auto snapshot =
      SnapshotOf(absl::StrCat("users a:CL:1 b:CL:2\n", kSomeService, "users c:CL:3\n", kSomeService, "users a:CL:1\n"));
  EXPECT_EQ(snapshot->users->size(), 3u);
}

TEST(UsersTest, AFileOfUsers) {
  MapReader files;
  for (int i = 0; i < 5000; ++i) absl::StrAppend(&files.files["/etc/passwd"], "user", i, ":CL:$pass", i, "\n");
  const BuildResult result = BuildFromText("test.cfg", absl::StrCat("users $/etc/passwd\n", kSomeService),
                                           {.files = &files, .allow_system = false, .run_system = {}});
  ASSERT_NE(result.snapshot, nullptr) << result.diagnostics.ToString();
  EXPECT_EQ(result.snapshot->users->size(), 5000u);
  EXPECT_TRUE(result.snapshot->users->Find("user4999")->Matches("$pass4999"));
}

TEST(UsersTest, AnUnreadableFileStopsTheLoad) {
  const BuildResult result = BuildText(absl::StrCat("users $/nowhere\n", kSomeService));
  EXPECT_EQ(result.snapshot, nullptr);
}

TEST(UsersTest, WhatLetsInNobodyOrEverybodyIsAnError) {
  for (const char* word : {"alice:", "alice:CL:", "alice:CR:", "alice:CR:secret", "alice:CR:$1$x", "alice:NT:12",
                           ":CL:x", "-:CL:x", "alice:LM:x", "alice:XX:secret", "alice:cr:secret", "alice:Nt:x"}) {
    const std::string line = absl::StrCat("users \"", word, "\"\n", kSomeService);
    EXPECT_EQ(BuildText(line).snapshot, nullptr) << word;
    EXPECT_THAT(Said(line), HasSubstr("test.cfg:1: error: users: ")) << word;
  }
}

TEST(UsersTest, AWordWithoutAColonIsPassedOverWithAWarning) {
  const std::string said = Said(absl::StrCat("users hunter2 alice:CL:x\n", kSomeService));
  EXPECT_THAT(said, HasSubstr("warning: users: word 1 has no colon"));
  EXPECT_FALSE(absl::StrContains(said, "hunter2"));
}

TEST(UsersTest, ANameHasOnePassword) {
  EXPECT_THAT(Said(absl::StrCat("users a:CL:1\nusers a:CL:2\n", kSomeService)),
              HasSubstr("test.cfg:2: error: users: 'a' is given a second password"));
}

// An unquoted $ is the name of a file.
TEST(UsersTest, AnUnquotedHashIsAnErrorThatSaysSo) {
  const std::string said = Said(absl::StrCat("users alice:CR:$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/\n", kSomeService));
  EXPECT_THAT(said, HasSubstr("test.cfg:1: error: "));
  EXPECT_THAT(said, HasSubstr("quote"));
  EXPECT_FALSE(absl::StrContains(said, "qjXMvbEw8oaL")) << said;
}

TEST(UsersTest, NoMessageHasAPassword) {
  for (const char* word : {"alice:CR:hunter2", "alice:NT:hunter2", "alice:XX:hunter2", "alice:cl:hunter2",
                           "alice:CR:$1$hunter2$", ":hunter2", "-:hunter2"}) {
    const std::string said = Said(absl::StrCat("users \"", word, "\"\n", kSomeService));
    EXPECT_FALSE(absl::StrContains(said, "hunter2")) << said;
  }
}

}  // namespace
}  // namespace sluice::config
