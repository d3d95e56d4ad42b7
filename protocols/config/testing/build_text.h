#ifndef SLUICE_PROTOCOLS_CONFIG_TESTING_BUILD_TEXT_H_
#define SLUICE_PROTOCOLS_CONFIG_TESTING_BUILD_TEXT_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "protocols/config/builder.h"
#include "protocols/config/file_reader.h"
#include "protocols/service/snapshot.h"

namespace sluice::config {

// Files that are no files.
class MapReader : public FileReader {
 public:
  absl::StatusOr<std::string> Read(const std::string& path, size_t limit_bytes) override {
    ++reads;
    const auto it = files.find(path);
    if (it == files.end()) return absl::NotFoundError("No such file or directory");
    if (it->second.size() > limit_bytes) return absl::OutOfRangeError("it is too long");
    return it->second;
  }

  std::map<std::string, std::string> files;
  int reads = 0;
};

inline BuildResult BuildText(std::string text) {
  MapReader files;
  return BuildFromText("test.cfg", std::move(text), {.files = &files, .allow_system = false, .run_system = {}});
}

// A service that makes a configuration of settings complete.
constexpr char kSomeService[] = "tcppm 8080 192.0.2.1 80\n";

// The snapshot of a configuration; the test fails where something is said about it.
inline std::unique_ptr<service::Snapshot> SnapshotOf(const std::string& text) {
  BuildResult result = BuildText(text);
  EXPECT_EQ(result.diagnostics.ToString(), "") << text;
  if (result.snapshot == nullptr || result.snapshot->services.empty()) ADD_FAILURE() << "no service in: " << text;
  return std::move(result.snapshot);
}

// The options of the last service.
inline service::ServiceOptions ServiceOf(const std::string& text) {
  const auto snapshot = SnapshotOf(text);
  if (snapshot == nullptr || snapshot->services.empty()) return {};
  return *snapshot->services.back();
}

// All that is said about a configuration.
inline std::string Said(const std::string& text) { return BuildText(text).diagnostics.ToString(); }

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_TESTING_BUILD_TEXT_H_
