#include "protocols/config/commands/users.h"

#include <algorithm>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "protocols/auth/password.h"
#include "protocols/auth/user_table.h"

namespace sluice::config {
namespace {

using auth::Password;

// RFC 1929 counts its bytes in one; Basic credentials could hold more.
constexpr size_t kMostNameBytes = 255;

// What stands behind the name. Two capital letters and a colon are a type, whether it exists or not: a mistyped one is
// not to become a part of the password.
absl::StatusOr<Password> ParsePassword(absl::string_view text) {
  const bool typed = text.size() >= 3 && text[2] == ':' && absl::ascii_isalpha(static_cast<unsigned char>(text[0])) &&
                     absl::ascii_isalpha(static_cast<unsigned char>(text[1]));
  const absl::string_view type = text.substr(0, 2);
  if (!typed) return Password::FromClearText(text);
  if (type == "CL") return Password::FromClearText(text.substr(3));
  if (type == "CR") return Password::FromCrypt(text.substr(3));
  if (type == "NT") return Password::FromNt(text.substr(3));
  if (type == "LM") return absl::InvalidArgumentError("has the type LM, which is no longer known, hash it anew as CR");
  const bool capitals = absl::ascii_isupper(static_cast<unsigned char>(text[0])) &&
                        absl::ascii_isupper(static_cast<unsigned char>(text[1]));
  const bool like_a_type =
      absl::EqualsIgnoreCase(type, "CL") || absl::EqualsIgnoreCase(type, "CR") || absl::EqualsIgnoreCase(type, "NT");
  if (!capitals && !like_a_type) return Password::FromClearText(text);
  return absl::InvalidArgumentError(
      "has a type that is none of CL, CR and NT, write NAME:CL:PASSWORD where it is the beginning of a password");
}

std::string WrongName(absl::string_view name) {
  if (name.empty()) return "has no name before its colon";
  if (name == "-") return "has the name -, which stands for clients without a name, give another one";
  if (name.size() > kMostNameBytes) return absl::StrCat("has a name of more than ", kMostNameBytes, " bytes");
  const bool control = std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  return control ? "has control characters in its name" : "";
}

}  // namespace

void HandleUsers(CommandContext& context) {
  for (int i = 1; i <= context.arguments(); ++i) {
    const std::string& word = context.argument(i);
    const size_t colon = word.find(':');
    if (colon == std::string::npos) {
      context.Warning(absl::StrCat("word ", i, " has no colon and is passed over, write NAME:TYPE:PASSWORD"));
      continue;
    }
    const absl::string_view name = absl::string_view(word).substr(0, colon);
    if (const std::string wrong = WrongName(name); !wrong.empty()) {
      context.Error(absl::StrCat("word ", i, " ", wrong));
      continue;
    }
    const absl::StatusOr<Password> password = ParsePassword(absl::string_view(word).substr(colon + 1));
    if (!password.ok()) {
      context.Error(absl::StrCat("the password of ", Quoted(name), " ", password.status().message()));
    } else if (!context.state.users->Add(name, *password)) {
      context.Error(absl::StrCat(Quoted(name), " is given a second password, which of the two counts is not clear, ",
                                 "take one away"));
    }
  }
}

}  // namespace sluice::config
