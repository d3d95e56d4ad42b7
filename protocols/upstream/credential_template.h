#ifndef SLUICE_PROTOCOLS_UPSTREAM_CREDENTIAL_TEMPLATE_H_
#define SLUICE_PROTOCOLS_UPSTREAM_CREDENTIAL_TEMPLATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sys/net/socket_address.h"

namespace sluice::upstream {

// A user name or password for a parent, which may depend on the client:
//
//   {user}      the name under which the client is known here; empty where it has none
//   {src}       its address, with '-' for ':' (Basic credentials cannot have a colon in the name)
//   {hash:src}  16 hexadecimal digits that go with its address, and do not tell it: for parents that choose an exit by
//               the name of a session. The same over restarts
//
// "{{" is a brace. Anything else in braces is an error.
//
// Thread-compatible.
class CredentialTemplate {
 public:
  CredentialTemplate() = default;

  // The error says what is wrong and what instead, without the word, which may be a password.
  static absl::StatusOr<CredentialTemplate> Parse(absl::string_view text);

  std::string Expand(absl::string_view user, const sys::SocketAddress& client) const;

  bool empty() const { return pieces_.empty(); }
  // It is the same for everybody.
  bool is_constant() const;

 private:
  enum class Kind : uint8_t { kText, kUser, kSource, kSourceHash };
  struct Piece {
    Kind kind;
    std::string text;
  };
  std::vector<Piece> pieces_;
};

}  // namespace sluice::upstream

#endif  // SLUICE_PROTOCOLS_UPSTREAM_CREDENTIAL_TEMPLATE_H_
