#include "protocols/config/commands/process.h"

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protocols/config/testing/build_text.h"
#include "protocols/service/snapshot.h"

namespace sluice::config {
namespace {

using service::ProcessOptions;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ProcessOptions With(const std::string& settings) { return SnapshotOf(settings + "\n" + kSomeService)->process; }

TEST(ProcessTest, Defaults) {
  const ProcessOptions process = With("");
  EXPECT_EQ(process.pidfile, "");
  EXPECT_FALSE(process.daemon);
  EXPECT_FALSE(process.user || process.group || process.chroot || process.chroot_identity || process.reload_path);
  EXPECT_TRUE(process.monitors.empty());
}

TEST(ProcessTest, Values) {
  EXPECT_EQ(With("pidfile /run/a").pidfile, "/run/a");
  EXPECT_TRUE(With("daemon").daemon);
  EXPECT_EQ(With("setuid nobody").user, "nobody");
  EXPECT_EQ(With("setuid 65534").user, "65534");
  EXPECT_EQ(With("setgid nogroup").group, "nogroup");
  EXPECT_EQ(With("config /etc/a").reload_path, "/etc/a");
  EXPECT_THAT(With("monitor a\nmonitor b").monitors, ElementsAre("a", "b"));
}

// They concern the process, not the services below.
TEST(ProcessTest, CountWhereverTheyStand) {
  EXPECT_EQ(SnapshotOf(std::string(kSomeService) + "pidfile /run/a\n")->process.pidfile, "/run/a");
}

TEST(ProcessTest, Chroot) {
  EXPECT_EQ(With("chroot /a").chroot, "/a");
  EXPECT_FALSE(With("chroot /a").chroot_identity.has_value());
  EXPECT_EQ(With("chroot /a u").chroot_identity, std::make_pair(std::string("u"), std::string()));
  EXPECT_EQ(With("chroot /a u g").chroot_identity, std::make_pair(std::string("u"), std::string("g")));
  EXPECT_THAT(Said("chroot a \"\" x:y\n"), HasSubstr("'a' is no absolute path"));
  EXPECT_THAT(Said("chroot a \"\" x:y\n"), HasSubstr("'' is no user"));
  EXPECT_THAT(Said("chroot a \"\" x:y\n"), HasSubstr("'x:y' is no group"));
}

TEST(ProcessTest, Plugins) {
  EXPECT_THAT(Said(std::string("plugin a.so pcre_plugin\n") + kSomeService),
              HasSubstr("warning: plugin: 'pcre_plugin' is built in"));
  EXPECT_THAT(Said(std::string("plugin a.so pcre_plugins\n") + kSomeService),
              HasSubstr("error: plugin: 'pcre_plugins' of 'a.so'"));
}

}  // namespace
}  // namespace sluice::config
