#ifndef SLUICE_TOOLS_SLUICE_LOAD_CONFIG_H_
#define SLUICE_TOOLS_SLUICE_LOAD_CONFIG_H_

#include <memory>
#include <string>

#include "protocols/service/snapshot.h"
#include "tools/sluice/flags.h"

namespace sluice::tools {

enum class LoadPurpose {
  kRun,
  kReload,  // by a process that serves already: what would have to be waited for is an error
  kCheck,
};

// Reads the configuration that `flags` names and says its warnings and errors on standard error. Null when there is an
// error. `chroot_prefix`: after a chroot, the folder that is now the root. Main thread (may block).
std::unique_ptr<service::Snapshot> LoadConfig(const Flags& flags, const std::string& path, LoadPurpose purpose,
                                              const std::string& chroot_prefix);

}  // namespace sluice::tools

#endif  // SLUICE_TOOLS_SLUICE_LOAD_CONFIG_H_
