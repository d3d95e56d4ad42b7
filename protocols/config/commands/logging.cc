#include "protocols/config/commands/logging.h"

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "protocols/service/snapshot.h"

namespace sluice::config {
namespace {

using Target = service::LogOptions::Target;

constexpr absl::string_view kRotationLetters = "cHDWMY";

absl::Status CheckRotation(absl::string_view rotation) {
  if (rotation.empty()) return absl::OkStatus();
  if (rotation.size() == 1 && kRotationLetters.find(rotation[0]) != absl::string_view::npos) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(Quoted(rotation),
                   " is no rotation, it is one letter: c (minute) H (hour) D (day) W (week) M (month) "
                   "or Y (year), give one or leave it out"));
}

}  // namespace

absl::Status SetLogTarget(absl::string_view target, absl::string_view rotation, service::LogOptions& log) {
  absl::Status status = CheckRotation(rotation);
  if (!status.ok()) return status;
  service::LogOptions result = log;
  result.name.clear();
  result.rotation = rotation.empty() ? 0 : rotation[0];
  absl::string_view name = target;
  if (target.empty()) {
    result.target = Target::kStdout;
  } else if (target == "/dev/null") {
    result.target = Target::kDevNull;
  } else if (absl::ConsumePrefix(&name, "@")) {
    if (name.empty()) return absl::InvalidArgumentError("'@' has no name behind it, syslog needs one, write @sluice");
    result.target = Target::kSyslog;
    result.name = std::string(name);
  } else if (target[0] == '&') {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(target),
                     " is an ODBC source, a static program has no database drivers, write json to stdout "
                     "(log and logformat json) and load it from there"));
  } else if (target == "radius") {
    return absl::InvalidArgumentError(
        "'radius' is not built yet, records would be lost, name a file (./radius for one of this name)");
  } else {
    result.target = Target::kFile;
    result.name = std::string(target);
  }
  if (result.rotation != 0 && result.target != Target::kFile) {
    return absl::InvalidArgumentError(absl::StrCat("rotation ", Quoted(rotation), " needs a file, ", Quoted(target),
                                                   " has none to rename, leave the letter out"));
  }
  log = result;
  return absl::OkStatus();
}

absl::Status SetLogFormat(absl::string_view format, service::LogOptions& log) {
  if (format.empty()) {
    return absl::InvalidArgumentError("the format is empty, it begins with L or G, leave the line out for the default");
  }
  log.format = std::string(format);
  return absl::OkStatus();
}

void HandleLog(CommandContext& context) {
  const absl::string_view target = context.arguments() >= 1 ? context.argument(1) : absl::string_view();
  const absl::string_view rotation = context.arguments() >= 2 ? context.argument(2) : absl::string_view();
  if (context.arguments() >= 1 && target.empty()) {
    context.Error("the name is empty, an empty word names no file, write log alone for standard output");
    return;
  }
  const absl::Status status = SetLogTarget(target, rotation, context.state.settings.log);
  if (!status.ok()) context.Error(status.message());
}

void HandleRotate(CommandContext& context) {
  const auto value = context.Number(1, 0, 1'000'000, "it is how many old files are kept, 0 keeps all");
  if (value) context.state.settings.log.keep_rotated = static_cast<int>(*value);
}

void HandleLogformat(CommandContext& context) {
  const absl::Status status = SetLogFormat(context.argument(1), context.state.settings.log);
  if (!status.ok()) context.Error(status.message());
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
