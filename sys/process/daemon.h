#ifndef SLUICE_SYS_PROCESS_DAEMON_H_
#define SLUICE_SYS_PROCESS_DAEMON_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sys/base/unique_fd.h"

namespace sluice::sys {

// Going into the background. The starting process stays until Ready(), so that a shell or an init script gets the right
// exit status: 0 once the service is ready, 1 when the daemon ends before that.
//
//   absl::StatusOr<Daemon> daemon = Daemon::Detach();  // from here on in the background
//   ... bind ports ...
//   daemon->Ready();
//
// Before any thread is made: only the calling thread survives fork(2). Main thread only.
class Daemon {
 public:
  // Forks twice: the daemon is in a session of its own and not its leader, so it never gets a terminal. Standard input
  // becomes /dev/null; the working directory stays, since a reload reads relative paths. Returns in the daemon only; on
  // an error, in the process that called.
  static absl::StatusOr<Daemon> Detach();

  Daemon(Daemon&&) = default;
  Daemon& operator=(Daemon&&) = default;

  // Lets the starting process exit with 0. Output that is still a terminal goes to /dev/null from here on; files and
  // pipes, which somebody chose, are kept.
  void Ready();

 private:
  explicit Daemon(UniqueFd report) : report_(std::move(report)) {}

  UniqueFd report_;
};

// Writes the process's number and a newline: into a new file beside `path` that is then renamed, so a reader never sees
// half a number, and a symbolic link put at `path` is replaced, not followed. Mode 0644.
absl::Status WritePidFile(const std::string& path);
// Removes it if it still holds this process's number.
void RemovePidFile(const std::string& path);

}  // namespace sluice::sys

#endif  // SLUICE_SYS_PROCESS_DAEMON_H_
