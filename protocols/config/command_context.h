#ifndef SLUICE_PROTOCOLS_CONFIG_COMMAND_CONTEXT_H_
#define SLUICE_PROTOCOLS_CONFIG_COMMAND_CONTEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "protocols/config/builder_state.h"
#include "protocols/config/diagnostics.h"
#include "protocols/config/lexer.h"
#include "protocols/config/values.h"

namespace sluice::config {

// One command on its way into the state. The number of words has been checked against the table when a handler gets it.
//
// Thread-compatible.
class CommandContext {
 public:
  CommandContext(const CommandLine& line, BuilderState& state) : state(state), line_(line) {}

  BuilderState& state;

  const std::string& name() const { return line_.words[0]; }
  const service::SourceLocation& location() const { return line_.location; }
  // Arguments behind the command, from 1 on.
  int arguments() const { return static_cast<int>(line_.words.size()) - 1; }
  const std::string& argument(int index) const { return line_.words[static_cast<size_t>(index)]; }

  // "COMMAND: TEXT" at the line of the command.
  void Error(absl::string_view text) { state.diagnostics.Error(location(), absl::StrCat(name(), ": ", text)); }
  void Warning(absl::string_view text) { state.diagnostics.Warning(location(), absl::StrCat(name(), ": ", text)); }

  // The argument as a number from `min` to `max`; else an error: "'x' is no number from 1 to 10, WHY".
  std::optional<int64_t> Number(int index, int64_t min, int64_t max, absl::string_view why) {
    const std::optional<int64_t> value = ParseInteger(argument(index), min, max);
    if (!value) Error(absl::StrCat(Quoted(argument(index)), " is no number from ", min, " to ", max, ", ", why));
    return value;
  }

 private:
  const CommandLine& line_;
};

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_COMMAND_CONTEXT_H_
