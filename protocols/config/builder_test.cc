#include "protocols/config/builder.h"

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "protocols/config/file_reader.h"
#include "protocols/service/snapshot.h"
#include "sys/thread/clock.h"

namespace sluice::config {
namespace {

using ::testing::HasSubstr;

class MapReader : public FileReader {
 public:
  absl::StatusOr<std::string> Read(const std::string& path, size_t limit_bytes) override {
    const auto it = files.find(path);
    if (it == files.end()) return absl::NotFoundError("No such file or directory");
    if (it->second.size() > limit_bytes) return absl::OutOfRangeError("too long");
    return it->second;
  }

  std::map<std::string, std::string> files;
};

class BuilderTest : public ::testing::Test {
 protected:
  BuildResult Build(std::string text) { return BuildFromText("test.cfg", std::move(text), options_); }

  MapReader files_;
  BuildOptions options_{&files_, false, nullptr};
};

TEST_F(BuilderTest, ServiceTakesTheSettingsAboveIt) {
  const BuildResult result = Build(
      "maxconn 7\n"
      "tcppm 8080 127.0.0.1 80\n"
      "maxconn 9\n"
      "tcppm -i::1 8081 example.com 443\n");
  ASSERT_NE(result.snapshot, nullptr) << result.diagnostics.ToString();
  EXPECT_EQ(result.diagnostics.ToString(), "");
  ASSERT_EQ(result.snapshot->services.size(), 2u);
  const service::ServiceOptions& first = *result.snapshot->services[0];
  EXPECT_EQ(first.maxconn, 7);
  EXPECT_EQ(first.log_name, "TCPPM");
  EXPECT_EQ(first.location.file, "test.cfg");
  EXPECT_EQ(first.location.line, 2);
  EXPECT_EQ(first.listen.ToString(), "0.0.0.0:8080");
  EXPECT_EQ(first.target.address.ToString(), "127.0.0.1:80");
  EXPECT_EQ(first.target.port, 80);
  const service::ServiceOptions& second = *result.snapshot->services[1];
  EXPECT_EQ(second.maxconn, 9);
  EXPECT_EQ(second.listen.ToString(), "[::1]:8081");
  EXPECT_EQ(second.target.host_name, "example.com");
  EXPECT_EQ(second.target.port, 443);
}

TEST_F(BuilderTest, ReadsAFileAndNamesOneThatIsMissing) {
  files_.files["a.cfg"] = "tcppm 0 127.0.0.1 80\n";
  EXPECT_NE(BuildFromFile("a.cfg", options_).snapshot, nullptr);
  const BuildResult missing = BuildFromFile("b.cfg", options_);
  EXPECT_EQ(missing.snapshot, nullptr);
  EXPECT_THAT(missing.diagnostics.ToString(), HasSubstr("b.cfg:0: error: cannot read the configuration: No such file"));
}

}  // namespace
}  // namespace sluice::config
