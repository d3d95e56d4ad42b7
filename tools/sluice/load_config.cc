#include "tools/sluice/load_config.h"

#include <cstdio>
#include <string>
#include <utility>

#include "protocols/config/build_options.h"
#include "protocols/config/builder.h"
#include "protocols/config/embedded_default.h"
#include "protocols/config/file_reader.h"
#include "protocols/config/shell_command.h"
#include "tools/sluice/say.h"

namespace sluice::tools {

std::unique_ptr<service::Snapshot> LoadConfig(const Flags& flags, const std::string& path, LoadPurpose purpose,
                                              const std::string& chroot_prefix) {
  using Fifos = config::SystemFileReader::Fifos;
  config::SystemFileReader files(chroot_prefix, purpose == LoadPurpose::kReload ? Fifos::kRefuse : Fifos::kWait);
  config::BuildOptions options;
  options.files = &files;
  options.allow_system = flags.allow_system;
  if (purpose != LoadPurpose::kCheck) {
    options.run_system = [](const std::string& command) { return config::RunShellCommand(command); };
  }
  config::BuildResult result =
      path.empty() ? config::BuildFromText(config::kEmbeddedDefaultName, config::kEmbeddedDefault, options)
                   : config::BuildFromFile(path, options);
  const std::string messages = result.diagnostics.ToString();
  if (purpose == LoadPurpose::kReload) {
    SayText(messages);
  } else {
    std::fputs(messages.c_str(), stderr);  // whoever starts it wants to read them all
  }
  return std::move(result.snapshot);
}

}  // namespace sluice::tools
