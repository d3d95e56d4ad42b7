#include "sys/process/signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "sys/base/errno_status.h"

namespace sluice::sys {
namespace {

bool IsIgnored(int number) {
  struct sigaction action;
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

absl::StatusOr<SignalReader> SignalReader::Create() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGUSR2, SIG_IGN);
  // An inherited SIG_IGN would make the kernel reap children before anybody asks for their status.
  std::signal(SIGCHLD, SIG_DFL);
  sigset_t wanted;
  sigemptyset(&wanted);
  for (int number : {SIGTERM, SIGUSR1, SIGCHLD}) sigaddset(&wanted, number);
  const bool hangup_ignored = IsIgnored(SIGHUP);
  if (!hangup_ignored) sigaddset(&wanted, SIGHUP);
  if (!IsIgnored(SIGINT)) sigaddset(&wanted, SIGINT);
  if (const int error = pthread_sigmask(SIG_BLOCK, &wanted, nullptr); error != 0) {
    return ErrnoStatus(error, "block signals");
  }
  UniqueFd fd(signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "signalfd");
  return SignalReader(std::move(fd), hangup_ignored);
}

std::optional<ReceivedSignal> SignalReader::Read() {
  signalfd_siginfo info;
  if (read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  // For SIGCHLD ssi_pid is the child, for those of kill() the sender.
  return ReceivedSignal{static_cast<int>(info.ssi_signo), static_cast<pid_t>(info.ssi_pid)};
}

std::optional<ReceivedSignal> SignalReader::WaitFor(int millis) {
  pollfd wait = {fd_.get(), POLLIN, 0};
  if (poll(&wait, 1, millis) <= 0) return std::nullopt;
  return Read();
}

void ResetSignalsOfChild() {
  struct sigaction by_default = {};
  by_default.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &by_default, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace sluice::sys
