#ifndef SLUICE_PROTOCOLS_CONFIG_COMMANDS_LOGGING_H_
#define SLUICE_PROTOCOLS_CONFIG_COMMANDS_LOGGING_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "protocols/config/command_context.h"
#include "protocols/service/snapshot.h"

namespace sluice::config {

// Settings of the services below that concern their access records. Handlers of command_table.h.
//
// Thread-compatible.

void HandleLog(CommandContext& context);
void HandleRotate(CommandContext& context);
void HandleLogformat(CommandContext& context);
void HandleLogdump(CommandContext& context);

// `log` and `-l`: sets target and name from the word (empty: standard output) and takes rotation back. The errors of
// these two say what is wrong with the word and what instead, without the word.
absl::Status SetLogTarget(absl::string_view target, service::LogOptions& log);

// `logformat` and `-f`.
absl::Status SetLogFormat(absl::string_view format, service::LogOptions& log);

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_COMMANDS_LOGGING_H_
