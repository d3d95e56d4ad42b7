#include "protocols/config/shell_command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "sys/base/errno_status.h"
#include "sys/base/unique_fd.h"

namespace sluice::config {
namespace {

// The child, in a process group of its own, or a negative errno.
int64_t Spawn(const std::string& command) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  absl::Cleanup destroy = [&] {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  };
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  // Blocked and ignored signals of a server are no good start for a shell.
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::string shell = "sh", flag = "-c", text = command;
  char* arguments[] = {shell.data(), flag.data(), text.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawn(&child, "/bin/sh", &actions, &attributes, arguments, environ);
  return error != 0 ? -error : child;
}

// False when the time is up first.
bool WaitForEnd(pid_t child, int64_t limit_nanos) {
  const sys::UniqueFd handle(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  if (!handle.valid()) return true;  // waitpid() then waits, without a limit
  const int64_t deadline = sys::Clock::System().Now() + limit_nanos;
  for (;;) {
    const int64_t left = std::max<int64_t>(deadline - sys::Clock::System().Now(), 0);
    pollfd poll_for = {handle.get(), POLLIN, 0};
    const timespec timeout = {left / sys::kNanosPerSecond, left % sys::kNanosPerSecond};
    const int ready = ppoll(&poll_for, 1, &timeout, nullptr);
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return true;
  }
}

}  // namespace

absl::Status RunShellCommand(const std::string& command, int64_t limit_nanos) {
  const int64_t spawned = Spawn(command);
  if (spawned < 0) return sys::ErrnoStatus(static_cast<int>(-spawned), "cannot run /bin/sh");
  const pid_t child = static_cast<pid_t>(spawned);
  const bool ended = WaitForEnd(child, limit_nanos);
  if (!ended) kill(-child, SIGKILL);
  int status = 0;
  pid_t waited;
  do {
    waited = waitpid(child, &status, 0);
  } while (waited < 0 && errno == EINTR);
  if (!ended)
    return absl::DeadlineExceededError(absl::StrCat("killed after ", limit_nanos / sys::kNanosPerSecond, " s"));
  // ECHILD: a process that ignores SIGCHLD is told nothing about its children.
  if (waited < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) return absl::OkStatus();
  if (WIFSIGNALED(status)) return absl::AbortedError(absl::StrCat("signal ", WTERMSIG(status)));
  return absl::AbortedError(absl::StrCat("exit status ", WEXITSTATUS(status)));
}

}  // namespace sluice::config
