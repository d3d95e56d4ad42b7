#include "sys/process/daemon.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "sys/base/errno_status.h"
#include "sys/base/root_path.h"

namespace sluice::sys {
namespace {

void PointAtNull(int number) {
  UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) return;
  dup2(null.get(), number);
  // The standard streams may have been closed when we started: then this *is* the number wanted.
  if (null.get() == number) (void)null.release();
}

// What the starting process does from now on: wait for the daemon's word.
[[noreturn]] void ReportAndExit(const UniqueFd& report) {
  char status = 1;
  ssize_t got;
  do {
    got = read(report.get(), &status, 1);
  } while (got < 0 && errno == EINTR);
  _exit(got == 1 ? status : 1);
}

}  // namespace

absl::StatusOr<Daemon> Daemon::Detach() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "go into the background: pipe");
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  std::fflush(nullptr);  // else both sides would write what is buffered
  const pid_t middle = fork();
  if (middle < 0) return ErrnoStatus(errno, "go into the background: fork");
  if (middle > 0) {
    write_end.reset();
    waitpid(middle, nullptr, 0);
    ReportAndExit(read_end);
  }
  setsid();
  // The middle process was the only one that could get a terminal. If the second fork fails, its end closes the pipe,
  // which the starting process reports.
  if (fork() != 0) _exit(0);
  PointAtNull(STDIN_FILENO);
  return Daemon(std::move(write_end));
}

void Daemon::Ready() {
  for (int number : {STDOUT_FILENO, STDERR_FILENO}) {
    if (isatty(number)) PointAtNull(number);
  }
  const char status = 0;
  if (report_.valid()) (void)!write(report_.get(), &status, 1);
  report_.reset();
}

absl::Status WritePidFile(const std::string& path) {
  const std::string text = absl::StrCat(getpid(), "\n");
  const std::string fresh = absl::StrCat(path, ".", getpid());
  const std::string context = absl::StrCat("write the pid file ", path);
  unlink(fresh.c_str());
  UniqueFd file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file.valid()) return ErrnoStatus(errno, context);
  const ssize_t written = write(file.get(), text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size()) && rename(fresh.c_str(), path.c_str()) == 0) {
    return absl::OkStatus();
  }
  // A short write of a few bytes is a full disk.
  const int error = written >= 0 && written < static_cast<ssize_t>(text.size()) ? ENOSPC : errno;
  unlink(fresh.c_str());
  return ErrnoStatus(error, context);
}

void RemovePidFile(const std::string& path_outside) {
  const std::string path = PathInRoot(path_outside);
  pid_t held = 0;
  std::ifstream file(path);
  if (file >> held && held == getpid()) unlink(path.c_str());
}

}  // namespace sluice::sys
