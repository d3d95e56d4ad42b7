#include "protocols/config/commands/access.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "protocols/config/values.h"

namespace sluice::config {
namespace {

enum class AuthStatus : uint8_t { kSupported, kNotBuilt, kRefused };

struct AuthType {
  absl::string_view name;
  AuthStatus status;
  absl::string_view note;
};

constexpr AuthType kAuthTypes[] = {
    {"none", AuthStatus::kSupported, ""},
    {"iponly", AuthStatus::kSupported, ""},
    {"useronly", AuthStatus::kNotBuilt, ""},
    {"strong", AuthStatus::kNotBuilt, ""},
    {"dnsname", AuthStatus::kNotBuilt, ""},
    {"cache", AuthStatus::kNotBuilt, ""},
    {"cacheacl", AuthStatus::kNotBuilt, ""},
    {"radius", AuthStatus::kNotBuilt, ""},
    {"nbname", AuthStatus::kRefused, "Windows clients no longer answer NetBIOS name queries, use iponly or strong"},
    {"pam", AuthStatus::kRefused, "a static program cannot load PAM, use strong or radius"},
    {"windows", AuthStatus::kRefused, "it needs Windows, use strong or radius"},
    {"ntlm", AuthStatus::kRefused, "it is obsolete, use strong or radius"},
};

const AuthType* FindAuthType(absl::string_view name) {
  for (const AuthType& type : kAuthTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

void CheckAuthType(CommandContext& context, const std::string& word) {
  const AuthType* type = FindAuthType(word);
  if (type == nullptr) {
    const absl::string_view near = Nearest(word, kAuthTypes, [](const AuthType& t) { return t.name; });
    context.Error(
        absl::StrCat(Quoted(word), " is unknown, the types are none, iponly, useronly, strong, dnsname, cache, ",
                     "cacheacl and radius, ",
                     near.empty() ? std::string("give one of them") : absl::StrCat("did you mean ", near, "?")));
  } else if (type->status == AuthStatus::kRefused) {
    context.Error(absl::StrCat(Quoted(word), " is not supported, ", type->note));
  } else if (type->status == AuthStatus::kNotBuilt) {
    context.Error(
        absl::StrCat(Quoted(word), " is not built yet, it would let everybody in, only none and iponly are there"));
  }
}

}  // namespace

// Without rules, `none` and `iponly` are the same: everybody is let in. There is nothing to keep.
void HandleAuth(CommandContext& context) {
  for (int i = 1; i <= context.arguments(); ++i) CheckAuthType(context, context.argument(i));
}

// The list of rules that it empties is always empty as long as there are no rules.
void HandleFlush(CommandContext&) {}

}  // namespace sluice::config
