#include "protocols/config/builder.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "protocols/config/builder_state.h"
#include "protocols/config/command_table.h"
#include "protocols/config/file_reader.h"
#include "protocols/config/lexer.h"
#include "protocols/config/script.h"

namespace sluice::config {
namespace {

bool IsCommand(absl::string_view word) { return FindCommand(word) != nullptr; }

// What can only be said once all lines are known.
void CheckWhole(const std::string& name, BuilderState& state) {
  if (!state.service_seen && !state.diagnostics.has_errors()) {
    state.diagnostics.Error({name, 0},
                            "the configuration starts no service, so it would listen nowhere, add one (tcppm ...)");
    return;
  }
  if (!state.service_seen) return;
  for (const BuilderState::Unused& unused : state.unused) {
    state.diagnostics.Warning(unused.location,
                              absl::StrCat(unused.command,
                                           ": has no effect, it counts for the services started below it and "
                                           "there is none, move it above them"));
  }
}

BuildResult Run(const std::string& name, Script& script, const BuildOptions& options, Diagnostics& diagnostics) {
  BuilderState state(options, script, diagnostics);
  while (std::optional<CommandLine> line = script.Next()) RunCommand(*line, state);
  CheckWhole(name, state);
  state.snapshot->users = state.users;
  // One resolver serves all services.
  state.snapshot->dns.timeout_nanos = state.settings.timeouts.dns;
  if (diagnostics.has_errors()) state.snapshot.reset();
  return {std::move(state.snapshot), std::move(diagnostics)};
}

}  // namespace

BuildResult BuildFromFile(const std::string& path, const BuildOptions& options) {
  const std::string name = path == "-" ? "<stdin>" : path;
  Diagnostics diagnostics;
  BudgetReader files(*options.files, kConfigurationLimitBytes);
  Script script(files, diagnostics, IsCommand);
  if (!script.OpenFile(path, name)) return {nullptr, std::move(diagnostics)};
  return Run(name, script, options, diagnostics);
}

BuildResult BuildFromText(const std::string& name, std::string text, const BuildOptions& options) {
  Diagnostics diagnostics;
  BudgetReader files(*options.files, kConfigurationLimitBytes);
  Script script(files, diagnostics, IsCommand);
  script.OpenText(name, std::move(text));
  return Run(name, script, options, diagnostics);
}

}  // namespace sluice::config
