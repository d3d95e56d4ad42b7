#ifndef SLUICE_PROTOCOLS_CONFIG_BUILD_OPTIONS_H_
#define SLUICE_PROTOCOLS_CONFIG_BUILD_OPTIONS_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "protocols/config/file_reader.h"

namespace sluice::config {

// What a configuration may do while it is read, and how it reaches the system.
//
// Thread-compatible.
struct BuildOptions {
  // Not owned; required.
  FileReader* files = nullptr;

  // `--allow-system`. Without it `system` is an error, so that a configuration that someone else can write to is not a
  // shell.
  bool allow_system = false;

  // Runs the command of a `system` line at that point of reading; an error is a warning of its line. Empty under
  // `check`: then allowed commands are passed over.
  std::function<absl::Status(const std::string& command)> run_system;
};

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_BUILD_OPTIONS_H_
