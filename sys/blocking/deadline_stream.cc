#include "sys/blocking/deadline_stream.h"

#include <sys/socket.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sys/base/errno_status.h"

namespace sluice::sys {
namespace {

// One read of the look-ahead: a request's head fits mostly, and a thread's stack is not touched by it.
constexpr size_t kChunkBytes = 4096;

}  // namespace

absl::StatusOr<size_t> DeadlineStream::ReadSome(absl::Span<char> out) {
  assert(!out.empty());
  const absl::string_view held = buffered();
  if (held.empty()) return Receive(out.data(), out.size());
  const size_t taken = std::min(held.size(), out.size());
  std::memcpy(out.data(), held.data(), taken);
  Consume(taken);
  return taken;
}

absl::Status DeadlineStream::ReadExactly(absl::Span<char> out) {
  size_t got = 0;
  while (got < out.size()) {
    absl::StatusOr<size_t> more = ReadSome(out.subspan(got));
    if (!more.ok()) return more.status();
    got += *more;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> DeadlineStream::ReadUntil(absl::string_view delimiter, size_t most_bytes) {
  assert(!delimiter.empty());
  size_t searched = 0;  // no delimiter begins before this: a client that sends byte by byte must not cost a square
  while (true) {
    const absl::string_view held = buffered().substr(0, most_bytes);
    if (const size_t at = held.find(delimiter, searched); at != absl::string_view::npos) {
      std::string result(held.substr(0, at + delimiter.size()));
      Consume(result.size());
      return result;
    }
    searched = held.size() < delimiter.size() ? 0 : held.size() - delimiter.size() + 1;
    if (absl::Status status = FillMore(most_bytes); !status.ok()) return status;
  }
}

absl::Status DeadlineStream::FillMore(size_t most_buffered) {
  const size_t held = buffer_.size() - consumed_;
  if (held >= most_buffered) {
    last_errno_ = 0;
    return absl::ResourceExhaustedError(absl::StrCat("more than ", most_buffered, " bytes"));
  }
  if (consumed_ > 0) buffer_.erase(0, std::exchange(consumed_, 0));
  const size_t room = std::min(kChunkBytes, most_buffered - held);
  buffer_.resize(held + room);
  absl::StatusOr<size_t> got = Receive(buffer_.data() + held, room);
  buffer_.resize(held + (got.ok() ? *got : 0));
  return got.status();
}

void DeadlineStream::Consume(size_t bytes) {
  assert(bytes <= buffered().size());
  consumed_ += bytes;
  if (consumed_ == buffer_.size()) {
    buffer_.clear();
    consumed_ = 0;
  }
}

absl::StatusOr<absl::string_view> DeadlineStream::Peek(size_t bytes) {
  while (buffered().size() < bytes) {
    if (absl::Status status = FillMore(bytes); !status.ok()) return status;
  }
  return buffered().substr(0, bytes);
}

std::string DeadlineStream::TakeBuffered() {
  buffer_.erase(0, std::exchange(consumed_, 0));
  return std::exchange(buffer_, std::string());
}

absl::Status DeadlineStream::WriteAll(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return Fail(errno, "write");
    if (const int error = WaitUntilReady(fd_, Direction::kWrite, deadline_, cancellation_); error != 0) {
      return Fail(error, "write");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> DeadlineStream::Receive(char* out, size_t size) {
  while (true) {
    // Before the data, which may be endless.
    if (deadline_ != kNoDeadline && Clock::System().Now() >= deadline_) return Fail(ETIMEDOUT, "read");
    if (cancellation_ != nullptr && cancellation_->cancelled()) return Fail(ECANCELED, "read");
    const ssize_t got = recv(fd_, out, size, 0);
    if (got > 0) return static_cast<size_t>(got);
    if (got == 0) {
      last_errno_ = 0;
      return absl::OutOfRangeError("end of stream");
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return Fail(errno, "read");
    if (const int error = WaitUntilReady(fd_, Direction::kRead, deadline_, cancellation_); error != 0) {
      return Fail(error, "read");
    }
  }
}

absl::Status DeadlineStream::Fail(int error, const char* doing) {
  last_errno_ = error;
  if (error == ETIMEDOUT) return absl::DeadlineExceededError(absl::StrCat(doing, ": timed out"));
  if (error == ECANCELED) return absl::CancelledError(absl::StrCat(doing, ": shutting down"));
  return ErrnoStatus(error, doing);
}

}  // namespace sluice::sys
