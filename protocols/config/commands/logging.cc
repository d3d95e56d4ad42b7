#include "protocols/config/commands/logging.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "protocols/accounting/log_format.h"
#include "protocols/accounting/log_target.h"
#include "protocols/service/snapshot.h"

namespace sluice::config {
namespace {

using Target = service::LogOptions::Target;

using accounting::LogTarget;
using accounting::Rotation;

// As the snapshot has it; 0 for kNone.
char RotationLetter(Rotation rotation) {
  switch (rotation) {
    case Rotation::kNone:
      return 0;
    case Rotation::kMinute:
      return 'c';
    case Rotation::kHour:
      return 'H';
    case Rotation::kDay:
      return 'D';
    case Rotation::kWeek:
      return 'W';
    case Rotation::kMonth:
      return 'M';
    case Rotation::kYear:
      return 'Y';
  }
  return 0;
}

bool ReadRotation(CommandContext& context, absl::string_view word, service::LogOptions& log) {
  const absl::StatusOr<LogTarget> parsed = LogTarget::Parse("file", word, 0);
  if (!parsed.ok() || word.empty()) {
    context.Error(absl::StrCat(Quoted(word),
                               " is no rotation, it is one letter: c (minute) H (hour) D (day) W (week) M (month) or Y "
                               "(year), give one or leave it out"));
    return false;
  }
  if (log.target == Target::kFile) {
    log.rotation = RotationLetter(parsed->rotation);
  } else {
    context.Warning(
        absl::StrCat("rotation ", Quoted(word),
                     " has no effect, the records go to no file that could be renamed, leave the letter out"));
  }
  return true;
}

}  // namespace

absl::Status SetLogTarget(absl::string_view target, service::LogOptions& log) {
  const absl::StatusOr<LogTarget> parsed = LogTarget::Parse(target, "", 0);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("is no place for records: ", parsed.status().message()));
  }
  log.name.clear();
  log.rotation = 0;
  switch (parsed->kind) {
    case LogTarget::Kind::kStdout:
      log.target = Target::kStdout;
      break;
    case LogTarget::Kind::kDiscard:
      log.target = Target::kDevNull;
      break;
    case LogTarget::Kind::kSyslog:
      log.target = Target::kSyslog;
      log.name = parsed->name;
      break;
    case LogTarget::Kind::kFile:
      log.target = Target::kFile;
      log.name = std::string(target);  // with the L or G of a template, for whoever opens it
      break;
  }
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
  if (!status.ok()) {
    context.Error(absl::StrCat(Quoted(target), " ", status.message()));
    log.target = Target::kFile;  // nothing more to say about the rotation than whether it is one
  }
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
