#include "protocols/accounting/log_thread.h"

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "protocols/accounting/log_loop.h"
#include "protocols/accounting/log_queue.h"
#include "sys/base/errno_status.h"

namespace sluice::accounting {
namespace {

// A line on stderr, unless a reader that does not read would make it wait (at most PIPE_BUF bytes to a descriptor that
// poll calls writable do not).
void ComplainOnStderr(absl::string_view line) {
  pollfd writable{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&writable, 1, 0) <= 0) return;
  const std::string text = absl::StrCat(line.substr(0, PIPE_BUF - 1), "\n");
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

LogChannel::LogChannel(std::shared_ptr<LogLoop> loop, std::shared_ptr<LogChannelState> state)
    : loop_(std::move(loop)), state_(std::move(state)) {}

LogChannel::~LogChannel() { loop_->Control(LogItem::Kind::kClose, std::move(state_)); }

void LogChannel::Submit(TrafficRecord record) { loop_->Submit(state_.get(), std::move(record)); }

LogThread::LogThread(Options options) {
  ::tzset();  // once, before threads: localtime_r need not do it
  if (!options.complain) options.complain = ComplainOnStderr;
  loop_ = std::make_shared<LogLoop>(std::move(options));
  // Signals are the main thread's; SIGPIPE of a dead reader would end the process where it is not ignored.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([loop = loop_] { loop->Run(); });
    pthread_setname_np(thread_.native_handle(), "log");
  } catch (const std::system_error& error) {  // std::thread has no other way to say it
    status_ = sys::ErrnoStatus(error.code().value(), "start the log's thread");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LogThread::~LogThread() { Stop(); }

absl::StatusOr<std::unique_ptr<LogChannel>> LogThread::Open(const LogTarget& target, const LogFormat& format) {
  absl::StatusOr<std::shared_ptr<LogChannelState>> state = loop_->Open(target, format);
  if (!state.ok()) return state.status();
  return std::unique_ptr<LogChannel>(new LogChannel(loop_, *std::move(state)));
}

void LogThread::Reopen() { loop_->Control(LogItem::Kind::kReopen, nullptr); }

void LogThread::Stop() {
  if (!thread_.joinable()) return;
  loop_->AskToStop(loop_->Now() + kFlushNanos);
  // Half a second more than it takes for itself; after that it hangs in a system call.
  if (loop_->WaitUntilDone(kFlushNanos + sys::kNanosPerSecond / 2)) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

LogStats LogThread::stats() const { return loop_->stats(); }

}  // namespace sluice::accounting
