#ifndef SLUICE_PROTOCOLS_AUTH_PASSWORD_H_
#define SLUICE_PROTOCOLS_AUTH_PASSWORD_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protocols/accounting/result_code.h"

namespace sluice::auth {

// A longer one is wrong; what libcrypt takes.
constexpr size_t kMostPasswordBytes = 511;

// What a user's password is checked against. The text itself is not kept: one that was given as clear text is a keyed
// digest here (the key is made at start and never leaves the process), so that comparing takes the same time wherever
// two passwords differ, and however long they are.
//
// Immutable; thread-safe. Errors and names of functions are fit for messages, no part of a password is in them.
class Password {
 public:
  // CL: the password itself. Empty is an error: everybody knows it.
  static absl::StatusOr<Password> FromClearText(absl::string_view text);
  // CR: "$1$" (MD5), "$5$", "$6$" (SHA-256, SHA-512), "$y$" (yescrypt), "$2a$", "$2b$", "$2y$" (bcrypt), as crypt(5)
  // has them, or 3proxy's "$3$SALT$HASH" (BLAKE2b). Anything that could match no password, or any, is an error.
  static absl::StatusOr<Password> FromCrypt(absl::string_view text);
  // NT: 32 hex digits.
  static absl::StatusOr<Password> FromNt(absl::string_view text);

  // Whether `candidate` is the password. Compared in constant time. Where dear(), it takes the time that the hash was
  // made to take (1 ms to 1 s): not on a worker.
  bool Matches(absl::string_view candidate) const;
  bool dear() const { return kind_ == Kind::kCrypt; }

  // What a wrong one is recorded as: 6, 7, 8.
  accounting::ResultCode wrong() const;

  // The same password as far as can be told: then a reload has not changed it.
  friend bool operator==(const Password& a, const Password& b) { return a.kind_ == b.kind_ && a.stored_ == b.stored_; }

 private:
  enum class Kind : uint8_t { kClearText, kCrypt, kBlake2, kNt };

  Password(Kind kind, std::string stored) : kind_(kind), stored_(std::move(stored)) {}

  Kind kind_;
  std::string stored_;  // the digest; for kCrypt and kBlake2 the whole text
};

// Ways to make a hash for `users`.
enum class HashType : uint8_t { kYescrypt, kBcrypt, kSha512, kSha256, kMd5, kBlake2, kNt };

// "CR:$y$...", "NT:...", with a salt of its own. Takes as long as the type is meant to take. Internal when the system
// has no random numbers, InvalidArgument for a password that is empty, too long, or holds NUL.
absl::StatusOr<std::string> HashPassword(absl::string_view password, HashType type);

}  // namespace sluice::auth

#endif  // SLUICE_PROTOCOLS_AUTH_PASSWORD_H_
