#include "protocols/upstream/credential_template.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace sluice::upstream {
namespace {

// FNV-1a with a last mixing step (that of MurmurHash3): it keeps nobody out, it only must not change.
uint64_t HashOf(absl::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccd;
  hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53;
  return hash ^ hash >> 33;
}

}  // namespace

absl::StatusOr<CredentialTemplate> CredentialTemplate::Parse(absl::string_view text) {
  CredentialTemplate result;
  std::string plain;
  const auto flush = [&] {
    if (!plain.empty()) result.pieces_.push_back({Kind::kText, std::exchange(plain, {})});
  };
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '{') {
      plain += text[at];
      continue;
    }
    if (text.substr(at, 2) == "{{") {
      plain += text[at++];
      continue;
    }
    const size_t end = text.find('}', at);
    const absl::string_view name = end == absl::string_view::npos ? "" : text.substr(at + 1, end - at - 1);
    Kind kind = Kind::kText;
    if (name == "user") kind = Kind::kUser;
    if (name == "src") kind = Kind::kSource;
    if (name == "hash:src") kind = Kind::kSourceHash;
    if (kind == Kind::kText) {
      return absl::InvalidArgumentError(
          "has a '{' that begins none of {user}, {src}, {hash:src}, write '{{' for a brace");
    }
    flush();
    result.pieces_.push_back({kind, ""});
    at = end;
  }
  flush();
  return result;
}

std::string CredentialTemplate::Expand(absl::string_view user, const sys::SocketAddress& client) const {
  std::string result;
  for (const Piece& piece : pieces_) {
    switch (piece.kind) {
      case Kind::kText:
        result += piece.text;
        break;
      case Kind::kUser:
        absl::StrAppend(&result, user);
        break;
      case Kind::kSource:
        result += absl::StrReplaceAll(client.IpText(), {{":", "-"}});
        break;
      case Kind::kSourceHash:
        absl::StrAppend(&result, absl::Hex(HashOf(client.IpText()), absl::kZeroPad16));
        break;
    }
  }
  return result;
}

bool CredentialTemplate::is_constant() const {
  return std::all_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) { return piece.kind == Kind::kText; });
}

}  // namespace sluice::upstream
