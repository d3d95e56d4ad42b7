#ifndef SLUICE_PROTOCOLS_CONFIG_COMMAND_TABLE_H_
#define SLUICE_PROTOCOLS_CONFIG_COMMAND_TABLE_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "protocols/config/command_context.h"

namespace sluice::config {

enum class CommandStatus : uint8_t {
  kSupported,
  kIgnored,   // accepted without effect; a warning says why, once
  kNotBuilt,  // an error: sluice does not have it yet. Nothing is accepted that is not enforced.
  kRefused,   // an error: sluice will not have it; the note names what to use instead
};

// Whom a setting concerns.
enum class CommandScope : uint8_t {
  kServicesBelow,  // the services that are started below it: behind the last one it does nothing, which is warned of
  kEverything,     // the process, or all services wherever it stands
  kScript,         // the reading of the configuration itself, or a service
};

// One command of the language.
struct Command {
  // More arguments than a line can have.
  static constexpr int kUnbounded = 1 << 30;

  absl::string_view name;
  absl::string_view usage;  // the arguments, for messages: "NUMBER"
  int min_arguments;
  int max_arguments;
  CommandStatus status;
  CommandScope scope;
  // kSupported: where the value goes (README.md). kIgnored: why. kNotBuilt: the package that will have it. kRefused:
  // why, and what instead.
  absl::string_view note;
  // kSupported only. REQUIRES: the number of arguments is within the bounds.
  void (*handle)(CommandContext& context);
};

// Every command that 3proxy has, sorted by family as in README.md. Thread-safe.
absl::Span<const Command> Commands();

// "supported", "ignored", "not built yet", "refused": as README.md has it.
absl::string_view CommandStatusName(CommandStatus status);

// nullptr when there is none; names are case-sensitive.
const Command* FindCommand(absl::string_view name);

// The command that `name` probably stands for; empty when none is near.
absl::string_view NearestCommand(absl::string_view name);

// Carries out one line: finds the command, counts its arguments, calls its handler. Everything that is wrong goes to
// the diagnostics. Thread-compatible.
void RunCommand(const CommandLine& line, BuilderState& state);

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_COMMAND_TABLE_H_
