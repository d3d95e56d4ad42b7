#include "protocols/config/commands/process.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "protocols/service/snapshot.h"

namespace sluice::config {
namespace {

bool CheckPath(CommandContext& context, int index) {
  if (!context.argument(index).empty()) return true;
  context.Error("the path is empty, an empty word names no file, give a path");
  return false;
}

// A name or a number. Whether it exists is asked when it is used, since `check` may run on another machine.
bool CheckIdentity(CommandContext& context, int index, absl::string_view kind) {
  const std::string& word = context.argument(index);
  const bool digits = std::all_of(word.begin(), word.end(), absl::ascii_isdigit);
  // The last number is (uid_t)-1, which the system calls take for "unchanged".
  const bool good = digits ? ParseInteger(word, 0, 4294967294).has_value()
                           : word.find_first_of(":, \t/") == std::string::npos && word[0] != '-';
  if (good) return true;
  context.Error(
      absl::StrCat(Quoted(word), " is no ", kind, ", neither a name nor a number from 0 to 4294967294, give one"));
  return false;
}

}  // namespace

void HandlePidfile(CommandContext& context) {
  if (CheckPath(context, 1)) context.state.snapshot->process.pidfile = context.argument(1);
}

void HandleSetuid(CommandContext& context) {
  if (CheckIdentity(context, 1, "user")) context.state.snapshot->process.user = context.argument(1);
}

void HandleSetgid(CommandContext& context) {
  if (CheckIdentity(context, 1, "group")) context.state.snapshot->process.group = context.argument(1);
}

void HandleChroot(CommandContext& context) {
  bool good = true;
  if (!absl::StartsWith(context.argument(1), "/")) {
    context.Error(
        absl::StrCat(Quoted(context.argument(1)),
                     " is no absolute path, a relative one would depend on where sluice is started, begin it with /"));
    good = false;
  }
  if (context.arguments() >= 2) good = CheckIdentity(context, 2, "user") && good;
  if (context.arguments() >= 3) good = CheckIdentity(context, 3, "group") && good;
  if (!good) return;
  service::ProcessOptions& process = context.state.snapshot->process;
  process.chroot = context.argument(1);
  process.chroot_identity.reset();
  if (context.arguments() >= 2) {
    process.chroot_identity =
        std::make_pair(context.argument(2), context.arguments() >= 3 ? context.argument(3) : std::string());
  }
}

void HandleDaemon(CommandContext& context) { context.state.snapshot->process.daemon = true; }

void HandleMonitor(CommandContext& context) {
  if (CheckPath(context, 1)) context.state.snapshot->process.monitors.push_back(context.argument(1));
}

void HandleConfig(CommandContext& context) {
  if (CheckPath(context, 1)) context.state.snapshot->process.reload_path = context.argument(1);
}

void HandleSystem(CommandContext& context) {
  const BuildOptions& options = context.state.options;
  if (!options.allow_system) {
    context.Error(
        "running commands is off, a configuration that others can write to would be a shell, start sluice with "
        "--allow-system or take the line away (ulimit checks and lock files are not needed)");
    return;
  }
  if (!options.run_system) return;
  const absl::Status status = options.run_system(context.argument(1));
  if (!status.ok())
    context.Warning(
        absl::StrCat(Quoted(context.argument(1)), " failed, ", status.message(), ", the configuration is read on"));
}

void HandleInclude(CommandContext& context) {
  if (CheckPath(context, 1)) context.state.script.Include(context.argument(1), context.location());
}

void HandleEnd(CommandContext& context) { context.state.script.End(); }

void HandlePlugin(CommandContext& context) {
  const std::string& function = context.argument(2);
  if (function == "ssl_plugin" || function == "pcre_plugin" || function == "transparent_plugin") {
    if (context.state.noted.insert(absl::StrCat("plugin ", function)).second) {
      context.Warning(absl::StrCat(Quoted(function), " is built in, no library is loaded, the line can go"));
    }
    return;
  }
  context.Error(absl::StrCat(Quoted(function), " of ", Quoted(context.argument(1)),
                             " cannot be loaded, a static program has no plugins, only ssl_plugin, pcre_plugin and "
                             "transparent_plugin are known (for PAM and LDAP use RADIUS)"));
}

}  // namespace sluice::config
