#include "protocols/config/diagnostics.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sluice::config {
namespace {

// Bytes from 0x80 on stay: paths and names are UTF-8.
bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::string WithoutControls(absl::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (char c : text) {
    if (IsControl(c)) {
      absl::StrAppendFormat(&result, "\\x%02x", static_cast<unsigned char>(c));
    } else {
      result.push_back(c);
    }
  }
  return result;
}

}  // namespace

std::string Quoted(absl::string_view word) {
  constexpr size_t kShownBytes = 100;
  std::string result = "'";
  for (char c : word.substr(0, kShownBytes)) {
    if (c == '\'' || c == '\\') result.push_back('\\');
    result.push_back(c);
  }
  result = WithoutControls(result);
  absl::StrAppend(&result, word.size() > kShownBytes ? "...'" : "'");
  return result;
}

std::string Diagnostic::ToString() const {
  return WithoutControls(absl::StrCat(location.file, ":", location.line,
                                      severity == Severity::kError ? ": error: " : ": warning: ", text));
}

void Diagnostics::Error(const service::SourceLocation& location, std::string text) {
  ++errors_;
  Add({Diagnostic::Severity::kError, location, std::move(text)});
}

void Diagnostics::Warning(const service::SourceLocation& location, std::string text) {
  ++warnings_;
  Add({Diagnostic::Severity::kWarning, location, std::move(text)});
}

void Diagnostics::Add(Diagnostic diagnostic) {
  if (all_.size() >= kMaxDiagnostics) return;
  if (all_.size() == kMaxDiagnostics - 1) {
    // A warning must not stand for the errors that it hides.
    diagnostic.severity = has_errors() ? Diagnostic::Severity::kError : Diagnostic::Severity::kWarning;
    diagnostic.text = absl::StrCat("from here on nothing more is shown, ", kMaxDiagnostics,
                                   " lines are enough to begin with, correct what stands above first");
  }
  all_.push_back(std::move(diagnostic));
}

std::string Diagnostics::ToString() const {
  std::string result;
  for (const Diagnostic& diagnostic : all_) absl::StrAppend(&result, diagnostic.ToString(), "\n");
  return result;
}

}  // namespace sluice::config
