#ifndef SLUICE_PROTOCOLS_CONFIG_COMMANDS_LOGGING_H_
#define SLUICE_PROTOCOLS_CONFIG_COMMANDS_LOGGING_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "protocols/config/command_context.h"
#include "protocols/service/snapshot.h"

namespace sluice::config {

// Settings of the services below that concern their access records. Handlers of command_table.h.

void HandleLog(CommandContext& context);
void HandleRotate(CommandContext& context);
void HandleLogformat(CommandContext& context);
void HandleLogdump(CommandContext& context);

// `log` and `-l`: sets target, name and rotation from the two words (both may be empty). The error says what is wrong
// and what instead.
absl::Status SetLogTarget(absl::string_view target, absl::string_view rotation, service::LogOptions& log);

// `logformat` and `-f`.
absl::Status SetLogFormat(absl::string_view format, service::LogOptions& log);

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_COMMANDS_LOGGING_H_
