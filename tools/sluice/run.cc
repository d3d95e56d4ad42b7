#include "tools/sluice/run.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "protocols/service/server.h"
#include "sys/loop/loop_probe.h"
#include "sys/process/daemon.h"
#include "sys/process/limits.h"
#include "sys/process/privileges.h"
#include "sys/process/signals.h"
#include "sys/thread/affinity.h"
#include "sys/thread/clock.h"
#include "tools/sluice/handlers.h"
#include "tools/sluice/load_config.h"
#include "tools/sluice/monitor.h"
#include "tools/sluice/say.h"

namespace sluice::tools {
namespace {

constexpr int64_t kWatchNanos = sys::kNanosPerSecond;

// A relayed connection takes two descriptors; pipes are pooled, sixteen a worker.
void WarnIfDescriptorsAreFew(const service::Snapshot& snapshot, int workers) {
  absl::StatusOr<sys::ResourceLimit> limit = sys::RaiseOpenFilesLimit();
  if (!limit.ok()) return Say(absl::StrCat("warning: ", limit.status().message()));
  int64_t connections = 0;
  for (const auto& service : snapshot.services) connections += service->maxconn;
  const int64_t services = static_cast<int64_t>(snapshot.services.size());
  const int64_t needed = 2 * connections + workers * (services + 2 * 16 + 4) + 64;
  if (limit->soft >= needed) return;
  Say(absl::StrCat("warning: maxconn allows ", connections, " connections, which take ", needed,
                   " descriptors, but the open files limit is ", limit->soft, ": about ",
                   std::max<int64_t>(0, (limit->soft - (needed - 2 * connections)) / 2),
                   " will be served at once; raise the limit (ulimit -n, LimitNOFILE) or lower maxconn"));
}

absl::Status DropPrivileges(const service::ProcessOptions& process) {
  sys::PrivilegesToKeep keep;
  std::optional<std::string> user = process.user;
  std::optional<std::string> group = process.group;
  if (process.chroot.has_value()) keep.chroot = *process.chroot;
  if (process.chroot_identity.has_value()) {
    if (!process.chroot_identity->first.empty()) user = process.chroot_identity->first;
    if (!process.chroot_identity->second.empty()) group = process.chroot_identity->second;
  }
  if (user.has_value()) {
    absl::StatusOr<sys::User> found = sys::LookUpUser(*user);
    if (!found.ok()) return found.status();
    keep.uid = found->uid;
    keep.gid = found->primary_group;
  }
  if (group.has_value()) {
    absl::StatusOr<gid_t> found = sys::LookUpGroup(*group);
    if (!found.ok()) return found.status();
    keep.gid = *found;
  }
  if (keep.chroot.empty() && !keep.uid.has_value() && !keep.gid.has_value()) return absl::OkStatus();
  return sys::DropPrivileges(keep);
}

// The whole life of the process after its command line was understood.
class Runner {
 public:
  explicit Runner(const Flags& flags) : flags_(flags) {}

  int Run() {
    std::unique_ptr<service::Snapshot> snapshot = LoadConfig(flags_, flags_.config, LoadPurpose::kRun, "");
    if (snapshot == nullptr) return 1;
    absl::StatusOr<sys::SignalReader> signals = sys::SignalReader::Create();
    if (!signals.ok()) return Fail(signals.status());
    signals_.emplace(*std::move(signals));
    if (snapshot->process.daemon) {
      if (getpid() == 1) {
        Say("warning: daemon is ignored: this is process 1, whose end would end the container");
      } else {
        absl::StatusOr<sys::Daemon> daemon = sys::Daemon::Detach();
        if (!daemon.ok()) return Fail(daemon.status());
        daemon_.emplace(*std::move(daemon));
      }
    }
    if (absl::Status status = Start(std::move(snapshot)); !status.ok()) {
      if (!process_.pidfile.empty()) sys::RemovePidFile(process_.pidfile);
      return Fail(status);
    }
    Serve();
    Drain();
    server_->Stop();
    if (!process_.pidfile.empty()) sys::RemovePidFile(process_.pidfile);
    return 0;
  }

 private:
  static int Fail(const absl::Status& status) {
    Say(std::string(status.message()));
    return 1;
  }

  absl::Status Start(std::unique_ptr<service::Snapshot> snapshot) {
    process_ = snapshot->process;
    absl::StatusOr<sys::LoopChoice> choice = sys::ProbeLoop(flags_.backend);
    if (!choice.ok()) return choice.status();
    Say(absl::StrCat("event loop: ", choice->backend == sys::Backend::kUring ? "io_uring" : "epoll", " (",
                     choice->reason, ")"));
    const sys::CpuBudget cpus = sys::MeasureCpuBudget();
    const int workers = flags_.workers > 0 ? flags_.workers : cpus.workers;
    WarnIfDescriptorsAreFew(*snapshot, workers);
    service::ServerOptions options;
    options.workers = workers;
    options.cpus = cpus.cpus;
    options.handshake_threads = flags_.handshake_threads;
    options.loop = *choice;
    options.make_handler = MakeHandler;
    options.say = Say;
    absl::StatusOr<std::unique_ptr<service::Server>> server = service::Server::Create(std::move(options));
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    monitor_.SetFiles(process_.monitors, Say);
    std::vector<std::string> listening;
    if (absl::Status status = server_->Apply(std::move(snapshot), &listening); !status.ok()) return status;
    if (!process_.pidfile.empty()) {
      if (absl::Status status = sys::WritePidFile(process_.pidfile); !status.ok()) return status;
    }
    if (absl::Status status = DropPrivileges(process_); !status.ok()) return status;
    if (absl::Status status = server_->Start(); !status.ok()) return status;
    for (const std::string& line : listening) Say(line);
    Say("ready");
    if (daemon_.has_value()) daemon_->Ready();
    return absl::OkStatus();
  }

  // Until a signal asks for the end.
  void Serve() {
    sys::MonotonicNanos next_watch = Now() + kWatchNanos;
    for (;;) {
      const int64_t wait = std::max<int64_t>(0, next_watch - Now());
      const std::optional<int> signal = WaitForSignal(wait);
      if (signal.has_value() && (*signal == SIGTERM || *signal == SIGINT)) return;
      if (signal.has_value() && (*signal == SIGHUP || *signal == SIGUSR1)) Reload("signal");
      if (Now() < next_watch) continue;
      next_watch = Now() + kWatchNanos;
      server_->Watch();
      if (monitor_.Changed(Say)) Reload("monitor");
    }
  }

  void Reload(const char* cause) {
    if (flags_.config.empty() && !process_.reload_path.has_value()) {
      return Say(absl::StrCat("reload (", cause, "): there is no configuration file to read again"));
    }
    const std::string path = process_.reload_path.value_or(flags_.config);
    if (path == "-") return Say(absl::StrCat("reload (", cause, "): standard input cannot be read again"));
    std::unique_ptr<service::Snapshot> snapshot =
        LoadConfig(flags_, path, LoadPurpose::kReload, process_.chroot.value_or(""));
    if (snapshot == nullptr) return Say(absl::StrCat("reload (", cause, ") failed: nothing was changed"));
    const std::vector<std::string> monitors = snapshot->process.monitors;
    std::vector<std::string> listening;
    if (absl::Status status = server_->Apply(std::move(snapshot), &listening); !status.ok()) {
      Say(std::string(status.message()));
      return Say(absl::StrCat("reload (", cause, ") failed: nothing was changed"));
    }
    monitor_.SetFiles(monitors, Say);
    for (const std::string& line : listening) Say(line);
    const relay::ReviewTally sessions = server_->ReviewSessions();
    Say(absl::StrCat("reloaded (", cause, "): ", sessions.kept, " sessions kept, ", sessions.revoked, " closed, ",
                     sessions.changed, " changed"));
  }

  // After the first SIGTERM. A second one cuts every wait short.
  void Drain() {
    if (flags_.lameduck_nanos > 0) {
      Say(absl::StrCat("ending: accepting for ", flags_.lameduck_nanos / sys::kNanosPerSecond, " s more"));
      if (!WaitWhile(flags_.lameduck_nanos, [] { return true; })) return End();
    }
    server_->StopAccepting();
    // The queues of the listeners are emptied twice, 100 ms apart; then it depends on the connections.
    if (!WaitWhile(std::max<int64_t>(flags_.drain_timeout_nanos, sys::kNanosPerSecond / 2),
                   [this] { return !server_->idle(); })) {
      return End();
    }
    if (server_->idle()) return;
    Say(absl::StrCat("ending: the drain timeout is over, ", server_->connections(), " connections are ended"));
    End();
  }

  void End() {
    server_->StopAccepting();
    server_->EndSessions();
    // Descriptors are closed and records queued within two turns of each worker.
    const sys::MonotonicNanos give_up = Now() + sys::kNanosPerSecond;
    while (server_->connections() > 0 && Now() < give_up) poll(nullptr, 0, 1);
  }

  // False when a signal to end came. Progress is said every five seconds.
  template <typename Condition>
  bool WaitWhile(int64_t nanos, Condition condition) {
    const sys::MonotonicNanos end = Now() + nanos;
    sys::MonotonicNanos next_word = Now() + 5 * sys::kNanosPerSecond;
    while (condition() && Now() < end) {
      const std::optional<int> signal = WaitForSignal(std::min<int64_t>(end - Now(), 10 * sys::kNanosPerMilli));
      if (signal.has_value() && (*signal == SIGTERM || *signal == SIGINT)) return false;
      if (Now() < next_word) continue;
      next_word = Now() + 5 * sys::kNanosPerSecond;
      Say(absl::StrCat("ending: ", server_->connections(), " connections are still open"));
    }
    return true;
  }

  std::optional<int> WaitForSignal(int64_t nanos) {
    const int millis = static_cast<int>((nanos + sys::kNanosPerMilli - 1) / sys::kNanosPerMilli);
    const std::optional<sys::ReceivedSignal> signal = signals_->WaitFor(std::max(0, millis));
    if (!signal.has_value()) return std::nullopt;
    if (signal->number == SIGCHLD) {
      while (waitpid(-1, nullptr, WNOHANG) > 0) {
      }
    }
    return signal->number;
  }

  static sys::MonotonicNanos Now() { return sys::Clock::System().Now(); }

  const Flags flags_;
  std::optional<sys::SignalReader> signals_;
  std::optional<sys::Daemon> daemon_;
  service::ProcessOptions process_;
  Monitor monitor_;
  std::unique_ptr<service::Server> server_;
};

}  // namespace

int RunServer(const Flags& flags) { return Runner(flags).Run(); }

int CheckConfig(const Flags& flags) {
  return LoadConfig(flags, flags.config, LoadPurpose::kCheck, "") != nullptr ? 0 : 1;
}

}  // namespace sluice::tools
