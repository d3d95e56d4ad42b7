#ifndef SLUICE_PROTOCOLS_CONFIG_DIAGNOSTICS_H_
#define SLUICE_PROTOCOLS_CONFIG_DIAGNOSTICS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "protocols/service/snapshot.h"

namespace sluice::config {

// One thing to say about a configuration. `text` is "what, why, what instead".
struct Diagnostic {
  enum class Severity : uint8_t { kWarning, kError };

  Severity severity = Severity::kError;
  service::SourceLocation location;
  std::string text;

  // "FILE:LINE: error: what, why, what instead", one line whatever the text holds: control characters are escaped.
  std::string ToString() const;
};

// Collects what there is to say while a configuration is read. The first error does not hide the others: reading goes
// on after it.
//
// Words of the configuration go into a text through Quoted() only, and passwords not at all: whoever writes a message
// about `users` or `parent` names the user or the position of the word, never the word.
//
// Thread-compatible.
class Diagnostics {
 public:
  // More than so many would say nothing new (a binary file has one for each line). The last one says that there are
  // more.
  static constexpr int kMaxDiagnostics = 1000;

  void Error(const service::SourceLocation& location, std::string text);
  // Also for what is only a note: the format knows two kinds.
  void Warning(const service::SourceLocation& location, std::string text);

  bool has_errors() const { return errors_ > 0; }
  // Also those beyond kMaxDiagnostics.
  int errors() const { return errors_; }
  int warnings() const { return warnings_; }
  // In the order in which they were found.
  const std::vector<Diagnostic>& all() const { return all_; }

  // One line for each, each with its newline: what `check` prints.
  std::string ToString() const;

 private:
  void Add(Diagnostic diagnostic);

  std::vector<Diagnostic> all_;
  int errors_ = 0;
  int warnings_ = 0;
};

// 'word', with control characters, quotes and backslashes escaped and cut after 100 bytes: what a message shows of a
// configuration.
std::string Quoted(absl::string_view word);

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_DIAGNOSTICS_H_
