#ifndef SLUICE_PROTOCOLS_ACCOUNTING_LOG_OUTPUT_H_
#define SLUICE_PROTOCOLS_ACCOUNTING_LOG_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "protocols/accounting/log_target.h"
#include "sys/base/errno_or.h"
#include "sys/base/errno_status.h"

namespace sluice::accounting {

// Something that takes lines: a file, standard output, syslog. LogSink above it keeps what it does not take now,
// decides when to try again and counts; the output only knows how to write and how to come back.
//
// Threads: the log thread, but for Open (main thread, before the log thread has it). No call blocks except on a file
// system.
class LogOutput {
 public:
  virtual ~LogOutput() = default;

  // Opens it for the first time. An errno means that the configuration is wrong (a file that cannot be made); what may
  // still come (a syslog that is not there yet) is no error.
  virtual int Open(int64_t unix_seconds) = 0;

  // Gives it what it takes now of `lines`, a run of lines with their newlines whose first may be the rest of one.
  // Returns how many bytes it took, or the errno: EAGAIN when it would block and poll_fd() will tell.
  virtual sys::ErrnoOr<size_t> Write(absl::string_view lines) = 0;

  // What to poll for POLLOUT after EAGAIN; -1 = nothing, try later.
  virtual int poll_fd() const = 0;

  // Between two lines: the name of a file may change. The errno of what failed, 0 if nothing; on failure the old file
  // stays in use.
  virtual int Turn(int64_t unix_seconds) = 0;

  enum class Recovery : uint8_t { kSame, kFresh, kFailed };
  // Before another try after `error`. kSame: it goes on where it stopped, so the rest of a torn line comes next;
  // kFresh: opened anew, that rest has no place any more; kFailed: not now.
  virtual Recovery Recover(int error, int64_t unix_seconds) = 0;

  // Opened anew by its name, for a reload. The errno, 0 if it went well; on failure the old one stays in use.
  virtual int Reopen(int64_t unix_seconds) = 0;
};

// A file, FIFO or device by name, with rotation and the removal of old files.
std::unique_ptr<LogOutput> NewFileOutput(const LogTarget& target);

// A descriptor that others share (standard output): its O_NONBLOCK is left alone, since it would be theirs too.
// Pipes and terminals are opened once more through /proc/self/fd where that works; where it does not, poll() is asked
// and at most PIPE_BUF bytes are written at a time, which then cannot block. `fd` stays owned by the caller.
std::unique_ptr<LogOutput> NewSharedFdOutput(int fd);

// Datagrams to syslog's unix socket at `path` (RFC 3164 format, facility daemon, severity info), one for each line.
std::unique_ptr<LogOutput> NewSyslogOutput(const std::string& ident, const std::string& path);

// Takes everything.
std::unique_ptr<LogOutput> NewDiscardOutput();

}  // namespace sluice::accounting

#endif  // SLUICE_PROTOCOLS_ACCOUNTING_LOG_OUTPUT_H_
