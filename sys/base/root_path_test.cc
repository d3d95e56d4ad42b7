#include "sys/base/root_path.h"

#include <gtest/gtest.h>

namespace sluice::sys {
namespace {

TEST(RootPathTest, OnlyWhatLiesInTheRootIsCut) {
  EXPECT_EQ(PathInRoot("/jail/log/a", "/jail"), "/log/a");
  EXPECT_EQ(PathInRoot("/jail/log/a", "/jail/"), "/log/a");
  EXPECT_EQ(PathInRoot("/jail/log/a", "/jail//"), "/log/a");
  EXPECT_EQ(PathInRoot("/jailer/a", "/jail"), "/jailer/a");
  EXPECT_EQ(PathInRoot("/jail", "/jail"), "/jail");
  EXPECT_EQ(PathInRoot("/log/a", "/jail"), "/log/a");
  EXPECT_EQ(PathInRoot("jail/a", "/jail"), "jail/a");
  EXPECT_EQ(PathInRoot("", "/jail"), "");
  EXPECT_EQ(PathInRoot("/a", "/"), "/a");
  EXPECT_EQ(PathInRoot("/a", ""), "/a");
}

TEST(RootPathTest, WithoutAChrootEveryPathIsItself) {
  EXPECT_EQ(PathInRoot("/jail/a"), "/jail/a");
  EnteredRoot("/jail");
  EXPECT_EQ(PathInRoot("/jail/a"), "/a");
  EXPECT_EQ(PathInRoot("/other/a"), "/other/a");
}

}  // namespace
}  // namespace sluice::sys
