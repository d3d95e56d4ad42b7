#include "sys/process/privileges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace sluice::sys {
namespace {

using testing::HasSubstr;

constexpr char kPasswd[] =
    "root:x:0:0:root:/root:/bin/sh\n"
    "# a comment\n"
    "broken:x:zero:0::/:/bin/sh\n"
    "+nis\n"
    "minus:x:4294967295:0::/:/bin/sh\n"
    "proxy:x:13:14:proxy:/bin:/usr/sbin/nologin\n"
    "proxy:x:99:99:second:/:/\n"
    "short:x:5:6\n";
constexpr char kGroup[] = "root:x:0:\nproxy:x:13:a,b\nbad:x:-1:\nlast:x:77";

class TempFile {
 public:
  explicit TempFile(const std::string& text) {
    std::string pattern = "/tmp/privilegesXXXXXX";
    close(mkstemp(pattern.data()));
    path_ = pattern;
    std::ofstream(path_) << text;
  }
  ~TempFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(FindUserTest, FirstEntryOfTheNameOrNumber) {
  ASSERT_TRUE(FindUser(kPasswd, "proxy").has_value());
  EXPECT_EQ(FindUser(kPasswd, "proxy")->uid, 13u);
  EXPECT_EQ(FindUser(kPasswd, "proxy")->primary_group, gid_t{14});
  EXPECT_EQ(FindUser(kPasswd, "short")->primary_group, gid_t{6});
  EXPECT_EQ(FindUser(kPasswd, uid_t{13})->primary_group, gid_t{14});
  for (const char* name : {"", "prox", "proxyx", "broken", "minus", "+nis", "# a comment"}) {
    EXPECT_FALSE(FindUser(kPasswd, name).has_value()) << name;
  }
  EXPECT_FALSE(FindUser(kPasswd, uid_t{1000}).has_value());
  EXPECT_FALSE(FindUser("", "root").has_value());
}

TEST(FindGroupTest, ByName) {
  EXPECT_EQ(FindGroup(kGroup, "proxy"), gid_t{13});
  EXPECT_EQ(FindGroup(kGroup, "last"), gid_t{77});
  EXPECT_EQ(FindGroup(kGroup, "bad"), std::nullopt);
  EXPECT_EQ(FindGroup(kGroup, ""), std::nullopt);
}

TEST(LookUpTest, NamesAndNumbersFromAFile) {
  TempFile passwd(kPasswd), group(kGroup);
  EXPECT_EQ(LookUpUser("proxy", passwd.path())->uid, 13u);
  EXPECT_EQ(LookUpUser("13", passwd.path())->primary_group, gid_t{14});
  EXPECT_EQ(LookUpUser("4711", passwd.path())->uid, 4711u);
  EXPECT_EQ(LookUpUser("4711", passwd.path())->primary_group, std::nullopt);
  EXPECT_EQ(*LookUpGroup("last", group.path()), 77u);
  EXPECT_EQ(*LookUpGroup("4711", "/nosuchfile"), 4711u);
  EXPECT_EQ(LookUpUser("4711", "/nosuchfile")->uid, 4711u);
}

TEST(LookUpTest, ErrorsSayWhatWhereAndWhatInstead) {
  TempFile passwd(kPasswd), group(kGroup);
  EXPECT_THAT(std::string(LookUpUser("nobodyatall", passwd.path()).status().message()),
              testing::AllOf(HasSubstr("no user \"nobodyatall\" in " + passwd.path()), HasSubstr("number")));
  EXPECT_EQ(LookUpGroup("nobodyatall", group.path()).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(LookUpUser("proxy", "/nosuchfile").status().message()),
              HasSubstr("user \"proxy\": open /nosuchfile: No such file"));
  // Numbers that setresuid() would take for "unchanged", or cannot hold.
  for (const char* text : {"4294967295", "99999999999", "-1", "+1", " 1", ""}) {
    EXPECT_FALSE(LookUpUser(text, passwd.path()).ok()) << text;
  }
}

TEST(DropPrivilegesTest, NothingToDropIsFine) { EXPECT_TRUE(DropPrivileges({}).ok()); }

TEST(DropPrivilegesTest, AFolderThatIsMissingIsNamed) {
  const absl::Status status = DropPrivileges({.chroot = "/nosuchfolder"});
  EXPECT_THAT(std::string(status.message()), HasSubstr("chroot to /nosuchfolder: "));
}

}  // namespace
}  // namespace sluice::sys
