#include "tools/sluice/load_config.h"

#include <cstdio>
#include <string>
#include <utility>

#include "protocols/config/build_options.h"
#include "protocols/config/builder.h"
#include "protocols/config/embedded_default.h"
#include "protocols/config/file_reader.h"
#include "protocols/config/shell_command.h"

namespace sluice::tools {

std::unique_ptr<service::Snapshot> LoadConfig(const Flags& flags, const std::string& path, LoadPurpose purpose,
                                              const std::string& chroot_prefix) {
  config::SystemFileReader files(chroot_prefix);
  config::BuildOptions options;
  options.files = &files;
  options.allow_system = flags.allow_system;
  if (purpose == LoadPurpose::kRun) {
    options.run_system = [](const std::string& command) { return config::RunShellCommand(command); };
  }
  config::BuildResult result =
      path.empty() ? config::BuildFromText(config::kEmbeddedDefaultName, config::kEmbeddedDefault, options)
                   : config::BuildFromFile(path, options);
  std::fputs(result.diagnostics.ToString().c_str(), stderr);
  return std::move(result.snapshot);
}

}  // namespace sluice::tools
