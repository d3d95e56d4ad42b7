#include "sys/process/privileges.h"

#include <grp.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sys/base/errno_status.h"
#include "sys/base/root_path.h"

namespace sluice::sys {
namespace {

// (uid_t)-1 means "unchanged" to setresuid(2): it is nobody's number.
bool ParseId(absl::string_view text, uint32_t* id) {
  for (char c : text) {
    if (c < '0' || c > '9') return false;
  }
  return absl::SimpleAtoi(text, id) && *id != static_cast<uint32_t>(-1);
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return ErrnoStatus(errno, absl::StrCat("open ", path));
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

// name:password:uid:gid:comment:home:shell
std::optional<User> ParsePasswdLine(const std::vector<absl::string_view>& fields) {
  User user;
  gid_t gid = 0;
  if (fields.size() < 4 || fields[0].empty() || !ParseId(fields[2], &user.uid) || !ParseId(fields[3], &gid)) {
    return std::nullopt;
  }
  user.primary_group = gid;
  return user;
}

absl::Status NotFound(absl::string_view kind, absl::string_view name, const std::string& path, const char* instead) {
  return absl::NotFoundError(absl::StrCat("there is no ", kind, " \"", name, "\" in ", path, "; ", instead));
}

absl::Status Failed(absl::string_view step, const char* needs) {
  const int error = errno;
  absl::Status status = ErrnoStatus(error, step);
  if (error != EPERM) return status;
  return absl::Status(status.code(), absl::StrCat(status.message(), " (needs root or ", needs, ")"));
}

absl::Status EnterRoot(const std::string& folder) {
  if (::chroot(folder.c_str()) != 0) return Failed(absl::StrCat("chroot to ", folder), "CAP_SYS_CHROOT");
  // Without this the old working directory would still lead out.
  if (chdir("/") != 0) return Failed(absl::StrCat("enter the new root ", folder), "CAP_DAC_READ_SEARCH");
  EnteredRoot(folder);
  return absl::OkStatus();
}

bool HasIds(std::optional<uid_t> uid, std::optional<gid_t> gid) {
  uid_t real_uid, effective_uid, saved_uid;
  gid_t real_gid, effective_gid, saved_gid;
  if (getresuid(&real_uid, &effective_uid, &saved_uid) != 0) return false;
  if (getresgid(&real_gid, &effective_gid, &saved_gid) != 0) return false;
  const bool user_is = !uid || (real_uid == *uid && effective_uid == *uid && saved_uid == *uid);
  const bool group_is = !gid || (real_gid == *gid && effective_gid == *gid && saved_gid == *gid);
  return user_is && group_is;
}

absl::Status VerifyDropped(const PrivilegesToKeep& keep) {
  if (!HasIds(keep.uid, keep.gid)) return absl::InternalError("the user or group did not change");
  const int groups = getgroups(0, nullptr);
  if (groups > 1) return absl::InternalError("supplementary groups were not given up");
  if (keep.uid && *keep.uid != 0 && setresuid(static_cast<uid_t>(-1), 0, static_cast<uid_t>(-1)) == 0) {
    return absl::InternalError("root could be had again after setuid");
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<User> FindUser(absl::string_view file, absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(file, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ':');
    if (fields[0] != name) continue;
    if (std::optional<User> user = ParsePasswdLine(fields)) return user;
  }
  return std::nullopt;
}

std::optional<User> FindUser(absl::string_view file, uid_t uid) {
  for (absl::string_view line : absl::StrSplit(file, '\n')) {
    std::optional<User> user = ParsePasswdLine(absl::StrSplit(line, ':'));
    if (user.has_value() && user->uid == uid) return user;
  }
  return std::nullopt;
}

std::optional<gid_t> FindGroup(absl::string_view file, absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(file, '\n')) {
    // name:password:gid:members
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ':');
    gid_t gid = 0;
    if (fields.size() >= 3 && !name.empty() && fields[0] == name && ParseId(fields[2], &gid)) return gid;
  }
  return std::nullopt;
}

absl::StatusOr<User> LookUpUser(absl::string_view name_or_number, const std::string& passwd_path) {
  absl::StatusOr<std::string> file = ReadFile(passwd_path);
  uid_t uid = 0;
  if (ParseId(name_or_number, &uid)) {
    // A number stands for itself, also where there is no file at all.
    if (!file.ok()) return User{uid, std::nullopt};
    return FindUser(*file, uid).value_or(User{uid, std::nullopt});
  }
  if (!file.ok()) {
    return absl::Status(file.status().code(), absl::StrCat("user \"", name_or_number, "\": ", file.status().message(),
                                                           "; give the user's number instead"));
  }
  if (std::optional<User> user = FindUser(*file, name_or_number)) return *user;
  return NotFound("user", name_or_number, passwd_path, "give the user's number if another service knows it");
}

absl::StatusOr<gid_t> LookUpGroup(absl::string_view name_or_number, const std::string& group_path) {
  gid_t gid = 0;
  if (ParseId(name_or_number, &gid)) return gid;
  absl::StatusOr<std::string> file = ReadFile(group_path);
  if (!file.ok()) {
    return absl::Status(file.status().code(), absl::StrCat("group \"", name_or_number, "\": ", file.status().message(),
                                                           "; give the group's number instead"));
  }
  if (std::optional<gid_t> found = FindGroup(*file, name_or_number)) return *found;
  return NotFound("group", name_or_number, group_path, "give the group's number if another service knows it");
}

absl::Status DropPrivileges(const PrivilegesToKeep& keep) {
  if (!keep.chroot.empty()) {
    if (absl::Status status = EnterRoot(keep.chroot); !status.ok()) return status;
  }
  // Being who one should be already is no error, whoever that is: a service manager may have done it.
  const bool is_root = geteuid() == 0;
  if (HasIds(keep.uid, keep.gid) && (!is_root || (!keep.uid && !keep.gid))) return absl::OkStatus();
  // The groups first, while there is still the right to: a process without root but with root's groups is half root.
  const gid_t group = keep.gid.value_or(getgid());
  if (setgroups(1, &group) != 0) return Failed("give up supplementary groups", "CAP_SETGID");
  if (setresgid(group, group, group) != 0) return Failed(absl::StrCat("change to group ", group), "CAP_SETGID");
  if (keep.uid && setresuid(*keep.uid, *keep.uid, *keep.uid) != 0) {
    return Failed(absl::StrCat("change to user ", *keep.uid), "CAP_SETUID");
  }
  return VerifyDropped(keep);
}

}  // namespace sluice::sys
