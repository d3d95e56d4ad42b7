#ifndef SLUICE_PROTOCOLS_CONFIG_LEXER_H_
#define SLUICE_PROTOCOLS_CONFIG_LEXER_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "protocols/config/diagnostics.h"
#include "protocols/config/file_reader.h"
#include "protocols/service/snapshot.h"

namespace sluice::config {

// The bounds of a line as it is written: a longer one is a mistake, or belongs into a file behind `$`. 3proxy has the
// same two. The words that a `$file` brings have bounds of their own.
constexpr size_t kLineLimitBytes = size_t{64} << 10;
constexpr size_t kLineLimitWords = 4096;
// With them: a million users, as words of 32 bytes and more.
constexpr size_t kLineLimitInsertedWords = size_t{1} << 20;

// A command with its arguments, and where it stands.
struct CommandLine {
  service::SourceLocation location;
  std::vector<std::string> words;  // at least one; words[0] is the command
};

// Cuts the text of one file into lines of words.
//
//  * A line whose first character is `#` or white space is a comment. An indented command is therefore one too, in
//    3proxy and here; since that is easily missed, it gets a warning. There are no comments behind a command, and lines
//    are not continued.
//  * Words are separated by blanks, tabs and CR. `"` begins and ends quoting anywhere in a word; in quotes, blanks and
//    `$` are themselves and `""` is one quote. `""` alone is an empty word. There are no backslash escapes.
//  * An unquoted `$` means: from here to the next blank stands the path of a file (which may be quoted), whose blanks,
//    tabs, CR and LF separate words that are put here. What stands before the `$` is glued to the first of them. In
//    that file `$` and `"` are literal: hashes hold the one, passwords may hold the other.
//
// Errors go to the diagnostics and cost their line only: NUL bytes, a quote that is not closed, a `$file` that is
// missing or empty, a line over the limits.
//
// Pure but for the reads of `$file`. Thread-compatible.
class Lexer {
 public:
  // Says whether an indented word would have been a command.
  using IsCommand = std::function<bool(absl::string_view word)>;

  // `file_name` is for messages.
  Lexer(std::string file_name, std::string text, IsCommand is_command);

  // The next line that is a command; nothing at the end of the text.
  std::optional<CommandLine> Next(FileReader& files, Diagnostics& diagnostics);

  const std::string& file_name() const { return file_name_; }

 private:
  std::string file_name_;
  std::string text_;
  IsCommand is_command_;
  size_t next_ = 0;  // where the next line begins
  int line_ = 0;     // of the line last taken; 1 is the first
};

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_LEXER_H_
