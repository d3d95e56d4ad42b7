#include "tools/sluice/load_config.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "protocols/config/build_options.h"
#include "protocols/config/builder.h"
#include "protocols/config/embedded_default.h"
#include "protocols/config/file_reader.h"
#include "sys/base/errno_status.h"
#include "sys/process/signals.h"

namespace sluice::tools {
namespace {

// `system`: as sh -c, with signals as a program expects them and nothing of ours on its standard output, which carries
// records.
absl::Status RunShell(const std::string& command) {
  const pid_t child = fork();
  if (child < 0) return sys::ErrnoStatus(errno, "fork");
  if (child == 0) {
    sys::ResetSignalsOfChild();
    dup2(2, 1);
    execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return sys::ErrnoStatus(errno, "waitpid");
  }
  if (WIFSIGNALED(status))
    return absl::AbortedError(absl::StrCat("the command was ended by signal ", WTERMSIG(status)));
  if (WEXITSTATUS(status) == 127) return absl::NotFoundError("there is no /bin/sh, or it did not find the command");
  if (WEXITSTATUS(status) != 0)
    return absl::AbortedError(absl::StrCat("the command exited with ", WEXITSTATUS(status)));
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<service::Snapshot> LoadConfig(const Flags& flags, const std::string& path, LoadPurpose purpose,
                                              const std::string& chroot_prefix) {
  config::SystemFileReader files(chroot_prefix);
  config::BuildOptions options;
  options.files = &files;
  options.allow_system = flags.allow_system;
  if (purpose == LoadPurpose::kRun) options.run_system = RunShell;
  config::BuildResult result =
      path.empty() ? config::BuildFromText(config::kEmbeddedDefaultName, config::kEmbeddedDefault, options)
                   : config::BuildFromFile(path, options);
  std::fputs(result.diagnostics.ToString().c_str(), stderr);
  return std::move(result.snapshot);
}

}  // namespace sluice::tools
