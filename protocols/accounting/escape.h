#ifndef SLUICE_PROTOCOLS_ACCOUNTING_ESCAPE_H_
#define SLUICE_PROTOCOLS_ACCOUNTING_ESCAPE_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace sluice::accounting {

// Making text from the network fit for a line of a log. All three append to `out` at most `budget` bytes, whole
// characters and whole escapes only, and return false when something had to be left out.
//
// A character is printable when it is valid UTF-8 (RFC 3629: shortest form, no surrogates) and neither a control (C0,
// DEL, C1) nor one that moves or hides text on a terminal (line and paragraph separators, direction marks, U+FEFF).
//
// Pure. Thread-safe.

// Unprintable bytes, `"` and `\` become \xHH; a blank too when `escape_blanks`. Unambiguous: it can be undone.
bool AppendEscaped(absl::string_view text, bool escape_blanks, size_t budget, std::string& out);

// Each byte that is unprintable or one of `replaced` becomes `replacement`.
bool AppendReplaced(absl::string_view text, absl::string_view replaced, char replacement, size_t budget,
                    std::string& out);

// The inside of a JSON string (RFC 8259): valid UTF-8 whatever `text` is, broken bytes as U+FFFD.
bool AppendJsonEscaped(absl::string_view text, size_t budget, std::string& out);

}  // namespace sluice::accounting

#endif  // SLUICE_PROTOCOLS_ACCOUNTING_ESCAPE_H_
