#ifndef SLUICE_SYS_BLOCKING_DEADLINE_STREAM_H_
#define SLUICE_SYS_BLOCKING_DEADLINE_STREAM_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "sys/blocking/wait.h"
#include "sys/thread/clock.h"

namespace sluice::sys {

// Straight-line reading and writing of a socket by a handshake thread: every call ends by the deadline, or at once when
// cancelled. That holds for a client that sends without a pause as well: past the deadline only what is buffered is
// given.
//
//   DeadlineStream stream(client.get(), deadline, &cancellation);
//   absl::StatusOr<std::string> line = stream.ReadUntil("\r\n", kLongestLine);
//   ...
//   handoff.from_client = stream.TakeBuffered();  // what came behind the handshake
//
// The descriptor is borrowed, and O_NONBLOCK: that flag belongs to the open file, which a worker uses before and after,
// so waiting is done by poll(2). Reading looks ahead (a line's end cannot be found otherwise); what was read and not
// consumed must go on with the connection: TakeBuffered().
//
// Errors: DeadlineExceeded, Cancelled, OutOfRange (the other side closed), ResourceExhausted (more than the limit
// given), else that of the errno, which last_errno() has as well. After an error the stream may be used on, with what
// was received so far still buffered; an error of the socket is told again at the next call, as end of stream (the
// kernel tells ECONNRESET once).
//
// Handshake thread only (may block).
class DeadlineStream {
 public:
  DeadlineStream(int fd, MonotonicNanos deadline, const Cancellation* cancellation = nullptr)
      : fd_(fd), deadline_(deadline), cancellation_(cancellation) {}
  DeadlineStream(const DeadlineStream&) = delete;
  DeadlineStream& operator=(const DeadlineStream&) = delete;

  int fd() const { return fd_; }
  MonotonicNanos deadline() const { return deadline_; }
  // For all calls from now on.
  void set_deadline(MonotonicNanos deadline) { deadline_ = deadline; }

  // At least one byte, from the look-ahead or else from the socket. REQUIRES: !out.empty().
  absl::StatusOr<size_t> ReadSome(absl::Span<char> out);
  absl::Status ReadExactly(absl::Span<char> out);
  // Up to and including `delimiter` (not empty), at most `most_bytes` with it. ResourceExhausted when that many bytes
  // have come without it; they stay buffered.
  absl::StatusOr<std::string> ReadUntil(absl::string_view delimiter, size_t most_bytes);

  // Look-ahead by hand, for parsers of their own: FillMore() adds what the socket has (at least one byte, at most until
  // `most_buffered` are held; ResourceExhausted when they are already), buffered() shows it, Consume() takes from its
  // front. Views are valid until the next call that reads.
  absl::Status FillMore(size_t most_buffered);
  absl::string_view buffered() const { return absl::string_view(buffer_).substr(consumed_); }
  // REQUIRES: bytes <= buffered().size().
  void Consume(size_t bytes);
  // Shows the next `bytes` bytes without consuming them.
  absl::StatusOr<absl::string_view> Peek(size_t bytes);
  // The look-ahead, which is then empty here.
  std::string TakeBuffered();

  // All of `bytes`, or an error; what was sent before an error is not told, since the stream is of no use then.
  absl::Status WriteAll(absl::string_view bytes);

  // The errno behind the last error: ETIMEDOUT, ECANCELED, ECONNRESET, ...; 0 for an end of stream and for limits.
  int last_errno() const { return last_errno_; }

 private:
  absl::StatusOr<size_t> Receive(char* out, size_t size);
  absl::Status Fail(int error, const char* doing);

  const int fd_;
  MonotonicNanos deadline_;
  const Cancellation* const cancellation_;
  std::string buffer_;  // received; the first `consumed_` bytes are done with
  size_t consumed_ = 0;
  int last_errno_ = 0;
};

}  // namespace sluice::sys

#endif  // SLUICE_SYS_BLOCKING_DEADLINE_STREAM_H_
