#ifndef SLUICE_SYS_PROCESS_PRIVILEGES_H_
#define SLUICE_SYS_PROCESS_PRIVILEGES_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sluice::sys {

// Users and groups by /etc/passwd and /etc/group, read by ourselves: getpwnam() of a static binary needs shared
// libraries of exactly the C library it was built with, and finds nothing in an image without them. Other sources of
// users (LDAP, sssd) are therefore not asked: give numbers for those.

struct User {
  uid_t uid = 0;
  std::optional<gid_t> primary_group;  // none for a number that is not in the file
};

// A name or a decimal number. NotFound names what was looked for and where.
// Start-up and reload only (reads a file).
absl::StatusOr<User> LookUpUser(absl::string_view name_or_number, const std::string& passwd_path = "/etc/passwd");
absl::StatusOr<gid_t> LookUpGroup(absl::string_view name_or_number, const std::string& group_path = "/etc/group");

// The pure part: `file` is the text of /etc/passwd (passwd(5)) or /etc/group (group(5)). Lines that are no entries are
// passed over, as the C library does.
std::optional<User> FindUser(absl::string_view file, absl::string_view name);
std::optional<User> FindUser(absl::string_view file, uid_t uid);
std::optional<gid_t> FindGroup(absl::string_view file, absl::string_view name);

struct PrivilegesToKeep {
  std::string chroot{};        // empty: none
  std::optional<uid_t> uid{};  // none: unchanged
  std::optional<gid_t> gid{};  // none: unchanged, so root's stays root's: give User::primary_group where there is one
};

// Confines the process: chroot and chdir to it, then group, then user; supplementary groups are given up when either id
// changes. All threads are concerned, and there is no way back: that it took, in all three ids of each kind, and that
// root cannot be had again, is verified.
//
// Everything that needs root or a path outside must be open by then. On an error the process may be half changed: exit.
// The error names the step that failed and what it needs.
// Start-up only.
absl::Status DropPrivileges(const PrivilegesToKeep& keep);

}  // namespace sluice::sys

#endif  // SLUICE_SYS_PROCESS_PRIVILEGES_H_
