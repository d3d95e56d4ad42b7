#ifndef SLUICE_PROTOCOLS_CONFIG_BUILDER_H_
#define SLUICE_PROTOCOLS_CONFIG_BUILDER_H_

#include <memory>
#include <string>

#include "protocols/config/build_options.h"
#include "protocols/config/diagnostics.h"
#include "protocols/service/snapshot.h"

namespace sluice::config {

struct BuildResult {
  // nullptr when there is an error: nothing of such a configuration is used.
  std::unique_ptr<service::Snapshot> snapshot;
  Diagnostics diagnostics;
};

// Turns a configuration into a snapshot. The only effects outside are reading files and, where the options allow it,
// `system`: no port is bound, no name looked up, nothing written; `check`, start and reload call the same function.
//
//   SystemFileReader files;
//   BuildResult result = BuildFromFile("/etc/sluice.cfg", {.files = &files});
//   stderr << result.diagnostics.ToString();
//   if (result.snapshot == nullptr) ...
//
// A configuration without a service is an error: at a reload it would close every port, and a file that is being
// written, or was forgotten, looks like that.
//
// May block (files). Thread-safe as far as the reader is.

// `path` is also the name in messages; "-" is standard input, "<stdin>" in messages.
BuildResult BuildFromFile(const std::string& path, const BuildOptions& options);

// `name` is for messages and never opened.
BuildResult BuildFromText(const std::string& name, std::string text, const BuildOptions& options);

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_BUILDER_H_
