#ifndef SLUICE_PROTOCOLS_AUTH_USER_TABLE_H_
#define SLUICE_PROTOCOLS_AUTH_USER_TABLE_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "protocols/auth/password.h"

namespace sluice::auth {

// `users`: names with their passwords, for all services. Names are case-sensitive and compared whole.
//
// Filled while a configuration is read, immutable from then on; then thread-safe.
class UserTable {
 public:
  // False: the name is taken, and has another password.
  bool Add(absl::string_view name, Password password);

  // Null: unknown. The pointer lives as long as the table.
  const Password* Find(absl::string_view name) const;
  // A password that costs as much as most users' to check: what an unknown name is held against, so that the time of
  // the answer does not tell which names exist. Null: nobody has one that is dear().
  const Password* decoy() const { return decoy_.has_value() ? &*decoy_ : nullptr; }
  size_t size() const { return users_.size(); }

 private:
  absl::flat_hash_map<std::string, Password> users_;
  std::optional<Password> decoy_;
};

}  // namespace sluice::auth

#endif  // SLUICE_PROTOCOLS_AUTH_USER_TABLE_H_
