#include "protocols/auth/user_table.h"

#include <utility>

namespace sluice::auth {

bool UserTable::Add(absl::string_view name, Password password) {
  if (password.dear() && !decoy_.has_value()) decoy_ = password;
  const auto [user, is_new] = users_.try_emplace(std::string(name), password);
  return is_new || user->second == password;
}

const Password* UserTable::Find(absl::string_view name) const {
  const auto user = users_.find(name);
  return user == users_.end() ? nullptr : &user->second;
}

}  // namespace sluice::auth
