#include "protocols/config/lexer.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sluice::config {
namespace {

constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

// What separates words.
bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// What makes a line a comment when it stands first: also the vertical tab and the form feed.
bool IsSpace(char c) { return IsBlank(c) || c == '\v' || c == '\f' || c == '\n'; }

// "1$SALT$...", "2b$10$...", "y$j9T$...": what stands behind the first $ of a crypt hash.
bool LooksLikeHash(absl::string_view path) {
  const size_t dollar = path.find('$');
  return dollar != absl::string_view::npos && dollar >= 1 && dollar <= 2 && path.find('/') > dollar;
}

// One line being cut. Dies with the line.
class LineCutter {
 public:
  LineCutter(absl::string_view line, FileReader& files) : line_(line), files_(files) {}

  // False when the line cannot be read; error() then says why.
  bool Cut() {
    for (;;) {
      while (at_ < line_.size() && IsBlank(line_[at_])) ++at_;
      if (at_ == line_.size()) return true;
      if (++written_words_ > kLineLimitWords) {
        return Fail(absl::StrCat("the line has more than ", kLineLimitWords,
                                 " words, more than any command takes, put them into a file and write $FILE instead"));
      }
      if (!TakeWord()) return false;
    }
  }

  std::vector<std::string> TakeWords() { return std::move(words_); }
  std::string TakeError() { return std::move(error_); }

 private:
  bool Fail(std::string error) {
    error_ = std::move(error);
    return false;
  }

  bool AtDollar() const { return at_ < line_.size() && line_[at_] == '$'; }

  // From at_ to the next unquoted blank or, unless `in_path`, the next unquoted `$`.
  bool TakeText(bool in_path, std::string& text) {
    bool quoted = false;
    for (; at_ < line_.size(); ++at_) {
      const char c = line_[at_];
      if (c == '"') {
        const bool doubled = quoted && at_ + 1 < line_.size() && line_[at_ + 1] == '"';
        if (doubled) {
          text.push_back('"');
          ++at_;
        } else {
          quoted = !quoted;
        }
      } else if (!quoted && (IsBlank(c) || (c == '$' && !in_path))) {
        return true;
      } else {
        text.push_back(c);
      }
    }
    if (!quoted) return true;
    return Fail(
        "a quote is not closed at the end of the line, the rest of the line would be one word, close it with \" "
        "(inside "
        "quotes, \"\" is one quote)");
  }

  bool TakeWord() {
    std::string word;
    if (!TakeText(/*in_path=*/false, word)) return false;
    if (!AtDollar()) {
      words_.push_back(std::move(word));
      return true;
    }
    ++at_;
    std::string path;
    if (!TakeText(/*in_path=*/true, path)) return false;
    return Insert(path, std::move(word));
  }

  // Puts the words of the file at `path` here, the first of them behind `prefix`.
  bool Insert(const std::string& path, std::string prefix) {
    if (path.empty()) {
      return Fail("a $ is followed by no path, $ stands for the words of a file, write $FILE or quote the $ as \"$\"");
    }
    absl::StatusOr<std::string> text = files_.Read(path, kConfigurationLimitBytes);
    // Not to be shown.
    if (!text.ok() && LooksLikeHash(path)) {
      return Fail(
          "an unquoted $ begins the path of a file, and this looks like the hash of a password, quote the whole word: "
          "\"NAME:CR:$...\"");
    }
    if (!text.ok()) {
      return Fail(absl::StrCat("cannot read ", Quoted(path), ", the file of a $ word: ", text.status().message(),
                               ", name a readable file or quote the $ as \"$\" if it is meant literally"));
    }
    if (absl::StrContains(*text, absl::string_view("\0", 1))) {
      return Fail(
          absl::StrCat(Quoted(path), ", the file of a $ word, holds a NUL byte, so it is no text, name a text file"));
    }
    bool first = true;
    for (absl::string_view word : absl::StrSplit(*text, absl::ByAnyChar(" \t\r\n"), absl::SkipEmpty())) {
      if (words_.size() >= kLineLimitInsertedWords) {
        return Fail(absl::StrCat(Quoted(path), ", the file of a $ word, brings the line to more than ",
                                 kLineLimitInsertedWords,
                                 " words, which would take the memory of the machine, shorten it"));
      }
      words_.push_back(first ? absl::StrCat(prefix, word) : std::string(word));
      first = false;
    }
    if (!first) return true;
    return Fail(absl::StrCat(Quoted(path),
                             ", the file of a $ word, holds no words, a forgotten file would pass for an "
                             "empty list, fill it or take the $ word away"));
  }

  const absl::string_view line_;
  FileReader& files_;
  size_t at_ = 0;
  size_t written_words_ = 0;
  std::vector<std::string> words_;
  std::string error_;
};

// The first word behind the blanks that make the line a comment.
absl::string_view IndentedWord(absl::string_view line) {
  while (!line.empty() && IsSpace(line.front())) line.remove_prefix(1);
  size_t length = 0;
  while (length < line.size() && !IsSpace(line[length])) ++length;
  return line.substr(0, length);
}

}  // namespace

Lexer::Lexer(std::string file_name, std::string text, IsCommand is_command)
    : file_name_(std::move(file_name)), text_(std::move(text)), is_command_(std::move(is_command)) {
  // Editors of other systems write it; 3proxy would call the first command unknown.
  if (absl::StartsWith(text_, kByteOrderMark)) next_ = kByteOrderMark.size();
}

std::optional<CommandLine> Lexer::Next(FileReader& files, Diagnostics& diagnostics) {
  while (next_ < text_.size()) {
    const size_t end = text_.find('\n', next_);
    const absl::string_view line = absl::string_view(text_).substr(next_, end == std::string::npos ? end : end - next_);
    next_ = end == std::string::npos ? text_.size() : end + 1;
    const service::SourceLocation location{file_name_, ++line_};

    if (absl::StrContains(line, absl::string_view("\0", 1))) {
      diagnostics.Error(
          location, "the line holds a NUL byte, so the file is no plain text (UTF-16, or binary), save it as UTF-8");
      continue;
    }
    if (line.empty() || line.front() == '#') continue;
    if (IsSpace(line.front())) {
      const absl::string_view word = IndentedWord(line);
      if (is_command_(word)) {
        diagnostics.Warning(location, absl::StrCat("the line is a comment because it is indented, so ", Quoted(word),
                                                   " has no effect, begin it in the first column or with #"));
      }
      continue;
    }
    if (line.size() > kLineLimitBytes) {
      diagnostics.Error(location, absl::StrCat("the line has ", line.size(), " bytes, more than the ", kLineLimitBytes,
                                               " of a line, put its words into a file and write $FILE instead"));
      continue;
    }
    LineCutter cutter(line, files);
    if (!cutter.Cut()) {
      diagnostics.Error(location, cutter.TakeError());
      continue;
    }
    return CommandLine{location, cutter.TakeWords()};
  }
  return std::nullopt;
}

}  // namespace sluice::config
