#ifndef SLUICE_PROTOCOLS_CONFIG_SCRIPT_H_
#define SLUICE_PROTOCOLS_CONFIG_SCRIPT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "protocols/config/diagnostics.h"
#include "protocols/config/file_reader.h"
#include "protocols/config/lexer.h"
#include "protocols/service/snapshot.h"

namespace sluice::config {

// A configuration as the sequence of its commands: the file itself, and at each `include` the commands of that file.
//
//   Script script(files, diagnostics, IsCommand);
//   if (!script.OpenFile(path)) ...
//   while (std::optional<CommandLine> command = script.Next()) ... may call Include() or End()
//
// `files` and `diagnostics` must outlive it. Thread-compatible.
class Script {
 public:
  // Files within files: more is a mistake, not a configuration.
  static constexpr int kMaxDepth = 16;
  // Included files in all: files that include others twice at every depth would come to 65536.
  static constexpr int kMaxIncludes = 1000;

  Script(FileReader& files, Diagnostics& diagnostics, Lexer::IsCommand is_command);

  // Begins with the file at `path`; `name` is for messages. False, with an error at NAME:0, when it cannot be read.
  bool OpenFile(const std::string& path, const std::string& name);
  // Begins with a text.
  void OpenText(const std::string& name, std::string text);

  // The next command; nothing at the end.
  std::optional<CommandLine> Next();

  // Goes on with the file at `path`, then with what follows the current line. Errors are said at `location`.
  void Include(const std::string& path, const service::SourceLocation& location);
  // `end`: leaves out the rest of the current file. A file that included it goes on behind its `include`.
  void End();

 private:
  FileReader& files_;
  Diagnostics& diagnostics_;
  const Lexer::IsCommand is_command_;
  std::vector<Lexer> open_;  // innermost last
  int includes_ = 0;
};

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_SCRIPT_H_
