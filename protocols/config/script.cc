#include "protocols/config/script.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace sluice::config {

Script::Script(FileReader& files, Diagnostics& diagnostics, Lexer::IsCommand is_command)
    : files_(files), diagnostics_(diagnostics), is_command_(std::move(is_command)) {}

bool Script::OpenFile(const std::string& path, const std::string& name) {
  absl::StatusOr<std::string> text = files_.Read(path, kConfigurationLimitBytes);
  if (!text.ok()) {
    diagnostics_.Error({name, 0}, absl::StrCat("cannot read the configuration: ", text.status().message(),
                                               ", name a readable file or - for standard input"));
    return false;
  }
  OpenText(name, *std::move(text));
  return true;
}

void Script::OpenText(const std::string& name, std::string text) {
  open_.clear();
  open_.emplace_back(name, std::move(text), is_command_);
}

std::optional<CommandLine> Script::Next() {
  while (!open_.empty()) {
    if (std::optional<CommandLine> command = open_.back().Next(files_, diagnostics_)) return command;
    open_.pop_back();
  }
  return std::nullopt;
}

void Script::Include(const std::string& path, const service::SourceLocation& location) {
  std::string chain;
  bool cycle = false;
  for (const Lexer& lexer : open_) {
    cycle = cycle || lexer.file_name() == path;
    if (cycle) absl::StrAppend(&chain, Quoted(lexer.file_name()), " includes ");
  }
  if (cycle) {
    diagnostics_.Error(location, absl::StrCat("include of ", Quoted(path), " goes in a circle, ", chain, Quoted(path),
                                              ", take one of them away"));
    return;
  }
  if (static_cast<int>(open_.size()) >= kMaxDepth) {
    diagnostics_.Error(location, absl::StrCat("include of ", Quoted(path), " would be the ", open_.size() + 1,
                                              "th file within a file, ", kMaxDepth,
                                              " is the limit (a circle of links?), include it from further outside"));
    return;
  }
  if (++includes_ > kMaxIncludes) {
    diagnostics_.Error(
        location, absl::StrCat("include of ", Quoted(path), " is one too many, a configuration includes ", "at most ",
                               kMaxIncludes, " files, merge some"));
    return;
  }
  absl::StatusOr<std::string> text = files_.Read(path, kConfigurationLimitBytes);
  if (!text.ok()) {
    diagnostics_.Error(location, absl::StrCat("cannot read ", Quoted(path), ", the file to include: ",
                                              text.status().message(), ", name a readable file"));
    return;
  }
  open_.emplace_back(path, *std::move(text), is_command_);
}

void Script::End() {
  if (!open_.empty()) open_.pop_back();
}

}  // namespace sluice::config
