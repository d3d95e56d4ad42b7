#ifndef SLUICE_PROTOCOLS_AUTH_MD4_H_
#define SLUICE_PROTOCOLS_AUTH_MD4_H_

#include <string>

#include "absl/strings/string_view.h"

namespace sluice::auth {

// MD4 (RFC 1320): 16 bytes. Broken long since, and what the NT hashes of passwords are made with; OpenSSL has it in a
// provider that a static program cannot load.
std::string Md4(absl::string_view bytes);

// The NT hash of a password: MD4 of its UTF-16. A password that is not UTF-8 is taken as Latin-1.
//
// Both are pure and thread-safe.
std::string NtHash(absl::string_view password);

}  // namespace sluice::auth

#endif  // SLUICE_PROTOCOLS_AUTH_MD4_H_
