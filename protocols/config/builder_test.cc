#include "protocols/config/builder.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protocols/config/embedded_default.h"
#include "protocols/config/testing/build_text.h"
#include "protocols/service/snapshot.h"
#include "sys/thread/clock.h"

namespace sluice::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(BuilderTest, ServiceTakesTheSettingsAboveIt) {
  const auto snapshot = SnapshotOf(
      "maxconn 7\n"
      "tcppm 8080 127.0.0.1 80\n"
      "maxconn 9\n"
      "tcppm 8081 127.0.0.1 81\n");
  ASSERT_EQ(snapshot->services.size(), 2u);
  EXPECT_EQ(snapshot->services[0]->maxconn, 7);
  EXPECT_EQ(snapshot->services[1]->maxconn, 9);
  EXPECT_EQ(snapshot->services[1]->location.file, "test.cfg");
  EXPECT_EQ(snapshot->services[1]->location.line, 4);
}

// Options of one service do not leak into the next.
TEST(BuilderTest, OptionsAreTheirServicesOwn) {
  const auto snapshot = SnapshotOf(
      "tcppm -i127.0.0.1 -e127.0.0.2 -C -b100 -ocTCP_NODELAY -l 8080 127.0.0.1 80\n"
      "tcppm 8081 127.0.0.1 81\n");
  ASSERT_EQ(snapshot->services.size(), 2u);
  const service::ServiceOptions& second = *snapshot->services[1];
  EXPECT_EQ(second.listen.ToString(), "0.0.0.0:8081");
  EXPECT_FALSE(second.external_ipv4.has_value());
  EXPECT_TRUE(second.relay.half_close);
  EXPECT_EQ(second.relay.read_bytes, 0);
  EXPECT_TRUE(second.client_socket_options.empty());
  EXPECT_EQ(second.log.target, service::LogOptions::Target::kNone);
}

TEST(BuilderTest, WithAnErrorThereIsNoSnapshotAndAllErrorsAreSaid) {
  const BuildResult result = BuildText("maxconn x\ntcppm 8080 127.0.0.1 80\nnope\n");
  EXPECT_EQ(result.snapshot, nullptr);
  EXPECT_EQ(result.diagnostics.errors(), 2);
}

TEST(BuilderTest, ReadsAFileAndNamesOneThatIsMissing) {
  MapReader files;
  files.files["a.cfg"] = kSomeService;
  files.files["-"] = "nope\n";
  const BuildOptions options = {.files = &files, .allow_system = false, .run_system = {}};
  EXPECT_NE(BuildFromFile("a.cfg", options).snapshot, nullptr);
  EXPECT_THAT(BuildFromFile("b.cfg", options).diagnostics.ToString(),
              HasSubstr("b.cfg:0: error: cannot read the configuration: No such file"));
  EXPECT_THAT(BuildFromFile("-", options).diagnostics.ToString(), HasSubstr("<stdin>:1: error: 'nope' is no command"));
}

TEST(BuilderTest, ConfigurationWithoutServiceIsAnError) {
  for (const char* text : {"", "# nothing\n", "log\n", "end\ntcppm 8080 127.0.0.1 80\n"}) {
    EXPECT_THAT(Said(text), HasSubstr("test.cfg:0: error: the configuration starts no service")) << text;
  }
  // Not said on top of another error, which may be the reason.
  EXPECT_THAT(Said("nope\n"), Not(HasSubstr("starts no service")));
}

TEST(BuilderTest, SettingsBehindTheLastServiceAreWarnedOf) {
  const std::string said = Said(std::string("maxconn 5\n") + kSomeService + "log\nmaxconn 6\npidfile /x\n");
  EXPECT_THAT(said, HasSubstr("test.cfg:3: warning: log: has no effect, it counts for the services started below it"));
  EXPECT_THAT(said, HasSubstr("test.cfg:4: warning: maxconn: has no effect"));
  EXPECT_THAT(said, Not(HasSubstr("pidfile")));
  EXPECT_THAT(said, Not(HasSubstr("test.cfg:1")));
}

TEST(BuilderTest, SystemIsOffUnlessAllowed) {
  MapReader files;
  std::vector<std::string> ran;
  BuildOptions options = {.files = &files, .allow_system = false, .run_system = [&ran](const std::string& command) {
                            ran.push_back(command);
                            return command == "fails" ? absl::AbortedError("exit status 1") : absl::OkStatus();
                          }};
  const std::string text = std::string("system \"echo a  b\"\nsystem fails\n") + kSomeService;
  EXPECT_THAT(BuildFromText("t", text, options).diagnostics.ToString(), HasSubstr("--allow-system"));
  EXPECT_TRUE(ran.empty());

  options.allow_system = true;
  const BuildResult result = BuildFromText("t", text, options);
  EXPECT_NE(result.snapshot, nullptr);
  EXPECT_THAT(ran, ElementsAre("echo a  b", "fails"));
  EXPECT_EQ(result.diagnostics.ToString(),
            "t:2: warning: system: 'fails' failed, exit status 1, the configuration is read on\n");

  ran.clear();
  options.run_system = nullptr;  // check
  EXPECT_NE(BuildFromText("t", text, options).snapshot, nullptr);
  EXPECT_TRUE(ran.empty());
}

// As `$files` hold passwords: no message about a command that takes one shows a word of it.
TEST(BuilderTest, PasswordsAreNeverShown) {
  MapReader files;
  files.files["users"] = "alice:CL:hunter2 bob:CR:$1$hunter2";
  const std::string text =
      "users $users carol:CL:hunter2\nparent 1000 http 192.0.2.1 3128 alice hunter2\nradius hunter2 192.0.2.1\n"
      "parent hunter2\nusser a:CL:hunter2\nadmin hunter2\n";
  const BuildResult result = BuildFromText("t", text, {.files = &files, .allow_system = false, .run_system = {}});
  EXPECT_EQ(result.diagnostics.errors(), 6);
  EXPECT_THAT(result.diagnostics.ToString(), Not(HasSubstr("hunter2")));
}

TEST(BuilderTest, EmbeddedDefaultIsPlainConfiguration) {
  MapReader files;
  const BuildResult result =
      BuildFromText(kEmbeddedDefaultName, kEmbeddedDefault, {.files = &files, .allow_system = false, .run_system = {}});
  EXPECT_EQ(result.diagnostics.ToString(), "");
  ASSERT_NE(result.snapshot, nullptr);
  for (const auto& service : result.snapshot->services) {
    EXPECT_TRUE(service->listen.is_loopback()) << service->log_name;
    EXPECT_EQ(service->log.target, service::LogOptions::Target::kStdout) << service->log_name;
  }
}

}  // namespace
}  // namespace sluice::config
