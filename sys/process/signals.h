#ifndef SLUICE_SYS_PROCESS_SIGNALS_H_
#define SLUICE_SYS_PROCESS_SIGNALS_H_

#include <sys/types.h>

#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "sys/base/unique_fd.h"

namespace sluice::sys {

struct ReceivedSignal {
  int number;
  pid_t sender;  // 0: the kernel (a terminal, say)
};

// Signals as something to be read, so that no code of ours ever runs in a signal handler: signalfd(2).
//
// Create() blocks SIGTERM, SIGINT, SIGHUP, SIGUSR1 and SIGCHLD in the calling thread, and so in all threads that it
// makes later, hence before any other thread; it ignores SIGPIPE (a splice into a closed socket raises it, and has no
// MSG_NOSIGNAL) and SIGUSR2.
//
// SIGHUP and SIGINT that were ignored when the process started stay ignored: nohup, or a script's background job, asked
// for that. Whoever starts under nohup reloads by SIGUSR1. (Looking is necessary: a blocked signal is queued even if it
// is ignored, and signalfd would return it.)
//
// Main thread only.
class SignalReader {
 public:
  static absl::StatusOr<SignalReader> Create();

  SignalReader(SignalReader&&) = default;
  SignalReader& operator=(SignalReader&&) = default;

  // Readable while a signal waits; for poll(2).
  int fd() const { return fd_.get(); }
  // The next signal; none when there is none. Equal ones that came before they were read may count as one, so after
  // SIGCHLD ask waitpid() until there is nothing more.
  std::optional<ReceivedSignal> Read();
  // The same, waiting for at most `millis`; negative: without limit.
  std::optional<ReceivedSignal> WaitFor(int millis);

  bool hangup_ignored() const { return hangup_ignored_; }

 private:
  SignalReader(UniqueFd fd, bool hangup_ignored) : fd_(std::move(fd)), hangup_ignored_(hangup_ignored) {}

  UniqueFd fd_;
  bool hangup_ignored_;
};

// For a child between fork() and exec(): nothing blocked, nothing ignored, as programs expect to be started.
void ResetSignalsOfChild();

}  // namespace sluice::sys

#endif  // SLUICE_SYS_PROCESS_SIGNALS_H_
