// Any text as a configuration: no crash, no endless work, diagnostics that are lines.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protocols/config/builder.h"
#include "protocols/config/diagnostics.h"
#include "protocols/config/file_reader.h"

namespace sluice::config {
namespace {

// "self" is the input again, so that it can include itself and insert its own words; not so often that the words of one
// input take the time of a thousand.
class FuzzReader : public FileReader {
 public:
  explicit FuzzReader(std::string self) : self_(std::move(self)) {}

  absl::StatusOr<std::string> Read(const std::string& path, size_t limit_bytes) override {
    if (path == "words") return std::string("one two\tthree\r\n$four \"five\"\n");
    if (path == "empty") return std::string();
    if (path != "self" || self_.size() > limit_bytes || ++reads_ > 50)
      return absl::NotFoundError("No such file or directory");
    return self_;
  }

 private:
  const std::string self_;
  int reads_ = 0;
};

void Require(bool condition) {
  if (!condition) abort();
}

}  // namespace

void FuzzOne(std::string text) {
  FuzzReader files(text);
  const BuildResult result = BuildFromText("f", text, {.files = &files, .allow_system = true, .run_system = {}});
  Require((result.snapshot == nullptr) == result.diagnostics.has_errors());
  Require(result.diagnostics.all().size() <= Diagnostics::kMaxDiagnostics);
  for (const Diagnostic& diagnostic : result.diagnostics.all()) {
    for (const char c : diagnostic.ToString()) Require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  }
}

}  // namespace sluice::config

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sluice::config::FuzzOne(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
