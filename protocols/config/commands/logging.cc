#include "protocols/config/commands/logging.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "protocols/accounting/log_format.h"
#include "protocols/service/snapshot.h"

namespace sluice::config {
namespace {

using Target = service::LogOptions::Target;

// One of c H D W M Y in either case, as the snapshot has it; 0 for anything else.
char RotationLetter(absl::string_view word) {
  constexpr absl::string_view kLetters = "cHDWMY";
  for (char letter : kLetters) {
    if (word.size() == 1 && absl::ascii_tolower(word[0]) == absl::ascii_tolower(letter)) return letter;
  }
  return 0;
}

bool ReadRotation(CommandContext& context, absl::string_view word, service::LogOptions& log) {
  log.rotation = RotationLetter(word);
  if (log.rotation == 0) {
    context.Error(absl::StrCat(Quoted(word),
                               " is no rotation, it is one letter: c (minute) H (hour) D (day) W (week) M (month) or Y "
                               "(year), give one or leave it out"));
    return false;
  }
  if (log.target != Target::kFile) {
    log.rotation = 0;
    context.Warning(
        absl::StrCat("rotation ", Quoted(word),
                     " has no effect, the records go to no file that could be renamed, leave the letter out"));
  }
  return true;
}

}  // namespace

absl::Status SetLogTarget(absl::string_view target, service::LogOptions& log) {
  Target kind = Target::kFile;
  absl::string_view name = target;
  if (target.empty() || target == "/dev/stdout") {
    kind = Target::kStdout;
    name = "";
  } else if (target == "/dev/null") {
    kind = Target::kDevNull;
    name = "";
  } else if (absl::ConsumePrefix(&name, "@")) {
    if (name.empty()) return absl::InvalidArgumentError("has no name behind the @, syslog needs one, write @sluice");
    kind = Target::kSyslog;
  } else if (target[0] == '&') {
    return absl::InvalidArgumentError(
        "is an ODBC source, a static program has no database drivers, write json to standard output (log, logformat "
        "json) and load it from there");
  } else if (target == "radius") {
    return absl::InvalidArgumentError(
        "is accounting by RADIUS and not built yet, records would be lost, name a file (./radius for one of this "
        "name)");
  }
  log.target = kind;
  log.name = std::string(name);
  log.rotation = 0;
  return absl::OkStatus();
}

absl::Status SetLogFormat(absl::string_view format, service::LogOptions& log) {
  const absl::Status status = accounting::LogFormat::Compile(format).status();
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("is no log format: ", status.message(), ", correct it"));
  }
  log.format = std::string(format);
  return absl::OkStatus();
}

void HandleLog(CommandContext& context) {
  service::LogOptions log = context.state.settings.log;
  const std::string target = context.arguments() >= 1 ? context.argument(1) : "";
  if (context.arguments() >= 1 && target.empty()) {
    context.Error("the name is empty, an empty word names no file, write log alone for standard output");
    return;
  }
  const absl::Status status = SetLogTarget(target, log);
  if (!status.ok()) context.Error(absl::StrCat(Quoted(target), " ", status.message()));
  const bool good_rotation = context.arguments() < 2 || ReadRotation(context, context.argument(2), log);
  if (status.ok() && good_rotation) context.state.settings.log = log;
}

void HandleRotate(CommandContext& context) {
  const auto value = context.Number(1, 0, 1'000'000, "it is how many old files are kept, 0 keeps all");
  if (value) context.state.settings.log.keep_rotated = static_cast<int>(*value);
}

void HandleLogformat(CommandContext& context) {
  const absl::Status status = SetLogFormat(context.argument(1), context.state.settings.log);
  if (!status.ok()) context.Error(absl::StrCat(Quoted(context.argument(1)), " ", status.message()));
}

void HandleLogdump(CommandContext& context) {
  constexpr int64_t kMostBytes = int64_t{1} << 60;
  constexpr absl::string_view kWhy = "a record is written each time so many bytes have passed, 0 is never";
  const auto from_upstream = context.Number(1, 0, kMostBytes, kWhy);
  const auto from_client = context.Number(2, 0, kMostBytes, kWhy);
  if (!from_upstream || !from_client) return;
  context.state.settings.relay.report_bytes_from_upstream = *from_upstream;
  context.state.settings.relay.report_bytes_from_client = *from_client;
}

}  // namespace sluice::config
