// Transfer's way through the worker's buffer, and what both ways share.

#include <sys/socket.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <limits>

#include "relay/transfer.h"

namespace sluice::relay {
namespace {

// The same through a transform, which may take everything and be blocked.
uint32_t SendAllThrough(Leg& sink, const char* bytes, uint32_t size, int& error) {
  uint32_t sent = 0;
  error = 0;
  while (sent < size && !sink.transform->holds_output()) {
    const int64_t n = sink.transform->Write(sink.fd.get(), bytes + sent, size - sent);
    if (n < 0) {
      error = static_cast<int>(-n);
      return sent;
    }
    sent += static_cast<uint32_t>(n);
  }
  if (sink.transform->holds_output()) error = EAGAIN;
  return sent;
}

// send(2) until everything is taken, the sink is blocked, or it fails. A partial send is tried again, so that the
// kernel has said EAGAIN and will report when there is space. Returns the bytes taken; `error` is 0, EAGAIN or what
// failed.
uint32_t SendAll(Leg& sink, const char* bytes, uint32_t size, int& error, int flags = 0) {
  if (sink.transform != nullptr) return SendAllThrough(sink, bytes, size, error);
  const int fd = sink.fd.get();
  uint32_t sent = 0;
  error = 0;
  while (sent < size) {
    const ssize_t n = send(fd, bytes + sent, size - sent, MSG_NOSIGNAL | flags);
    if (n >= 0) {
      sent += static_cast<uint32_t>(n);
    } else if (errno != EINTR) {
      error = errno;
      break;
    }
  }
  return sent;
}

ssize_t Receive(int fd, char* bytes, size_t size) {
  ssize_t n;
  do {
    n = recv(fd, bytes, size, 0);
  } while (n < 0 && errno == EINTR);
  return n;
}

// The source gave less than was asked: nothing more is there, if it is plain TCP and no end, error or urgent byte was
// announced.
bool ShortReadDrains(const Leg& source) { return source.is_tcp && !source.hang_up_seen && !source.urgent_seen; }

}  // namespace

int Transfer::ReadBytes(const Flow& flow, const RelayOptions& options, int64_t most_bytes) const {
  int bytes = options.read_bytes;
  if (bytes == 0) bytes = flow.after_delay || flow.slow_sink ? kSlowReadBytes : kReadBytes;
  if (flow.slow_sink && rest_bytes_ > kRestBudgetBytes) bytes = std::min(bytes, kScarceReadBytes);
  return static_cast<int>(std::min<int64_t>(bytes, most_bytes));
}

void Transfer::Drop(Flow& flow, int64_t bytes) {
  constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
  flow.unsent_bytes = static_cast<uint32_t>(std::min<int64_t>(kMost, flow.unsent_bytes + bytes));
}

Transfer::Outcome Transfer::Copy(Flow& flow, Leg& source, Leg& sink, const RelayOptions& options, int64_t most_bytes) {
  const int asked = ReadBytes(flow, options, most_bytes);
  const Outcome read = ReadInto(source, asked);
  if (read.result != Result::kTaken) return read;
  const int64_t got = read.bytes;
  const char* const bytes = ReadArea(asked);
  flow.bytes += got;
  stats_.copied_bytes += got;
  const bool was_splicing = flow.policy.splicing();
  flow.policy.OnCopied(options.splice, got, asked);
  if (flow.policy.splicing() && !was_splicing) ++stats_.turned_to_splice;

  if (MayDefer(source, got)) {
    PutInReadArea(absl::string_view(), absl::string_view(bytes, static_cast<size_t>(got)));
    return Defer(flow, got);
  }
  Outcome outcome{.result = Result::kTaken, .bytes = got};
  const uint32_t sent = SendAll(sink, bytes, static_cast<uint32_t>(got), outcome.error);
  if (outcome.error == 0) {
    flow.slow_sink = false;
    return outcome;
  }
  const uint32_t rest = static_cast<uint32_t>(got) - sent;
  if (outcome.error != EAGAIN) {
    Drop(flow, rest);
    outcome.result = Result::kSinkError;
    return outcome;
  }
  outcome.error = 0;
  outcome.rest_left = true;
  sink.writable = false;
  flow.slow_sink = true;
  if (rest > 0 && !flow.rest.Keep(bytes + sent, rest, &rest_bytes_)) {
    Drop(flow, rest);
    return {.result = Result::kNoMemory, .bytes = got, .error = ENOMEM};
  }
  return outcome;
}

char* Transfer::ReadArea(int asked) {
  if (asked <= kReadBytes) return area_.get() + area_used_ + RestBuffer::kHeaderBytes;
  if (asked > static_cast<int>(large_.size())) large_.resize(asked);
  return large_.data();
}

void Transfer::PutInReadArea(absl::string_view first, absl::string_view second) {
  char* const begin = ReadArea(kReadBytes);
  if (!second.empty() && second.data() != begin + first.size()) {
    std::memmove(begin + first.size(), second.data(), second.size());
  }
  if (!first.empty()) std::memcpy(begin, first.data(), first.size());
}

bool Transfer::MayDefer(const Leg& source, int64_t bytes) const {
  return bytes <= kDeferBytes && !source.readable && deferred_ < kMostDeferred &&
         area_used_ + RestBuffer::kHeaderBytes + kDeferBytes <= kDeferredAreaBytes;
}

Transfer::Outcome Transfer::Defer(Flow& flow, int64_t bytes) {
  flow.rest.Lend(area_.get() + area_used_, static_cast<uint32_t>(bytes), &deferred_bytes_);
  constexpr size_t kMask = RestBuffer::kAlignment - 1;
  area_used_ = (area_used_ + RestBuffer::kHeaderBytes + static_cast<size_t>(bytes) + kMask) & ~kMask;
  ++deferred_;
  ++stats_.deferred;
  flow.slow_sink = false;
  return {.result = Result::kTaken, .bytes = bytes, .rest_left = true, .deferred = true};
}

void Transfer::AfterDeferred() {
  assert(deferred_bytes_ == 0);
  if (deferred_bytes_ > 0) return;  // the memory stays in use; without room for more, nothing is deferred
  area_used_ = 0;
  deferred_ = 0;
}

// One read into the worker's memory.
Transfer::Outcome Transfer::ReadInto(Leg& source, int asked) {
  if (source.transform != nullptr) return ReadThrough(source, asked);
  const ssize_t got = Receive(source.fd.get(), ReadArea(asked), asked);
  if (got == 0) return {.result = Result::kSourceEnd};
  if (got < 0) {
    if (errno != EAGAIN) return {.result = Result::kSourceError, .error = errno};
    source.readable = false;
    source.urgent_seen = false;
    return {.result = Result::kNothing};
  }
  if (got < asked && ShortReadDrains(source)) source.readable = false;
  return {.result = Result::kTaken, .bytes = got};
}

Transfer::Outcome Transfer::ReadThrough(Leg& source, int asked) {
  const Transform::ReadResult read =
      source.transform->Read(source.fd.get(), ReadArea(asked), static_cast<size_t>(asked), ShortReadDrains(source));
  if (read.bytes == 0) return {.result = Result::kSourceEnd};
  if (read.bytes < 0 && read.bytes != -EAGAIN) {
    return {.result = Result::kSourceError, .error = static_cast<int>(-read.bytes)};
  }
  if (read.bytes < 0 || read.drained) source.readable = false;
  if (read.bytes < 0) {
    source.urgent_seen = false;
    return {.result = Result::kNothing};
  }
  return {.result = Result::kTaken, .bytes = read.bytes};
}

Transfer::Outcome Transfer::DeliverBuffer(Flow& flow, Leg& sink, bool end_follows) {
  Outcome outcome{.result = Result::kTaken};
  if (sink.transform != nullptr) {
    // What it holds comes before what the flow holds, which may be nothing.
    const int held = sink.transform->Flush(sink.fd.get());
    if (held == -EAGAIN && !flow.rest.lent()) {
      sink.writable = false;
      outcome.rest_left = true;
      return outcome;
    }
    if (held < 0 && held != -EAGAIN) {
      outcome.result = Result::kSinkError;
      outcome.error = -held;
      return outcome;
    }
    if (flow.rest.empty()) return outcome;
  }
  // MSG_MORE keeps back the last, partial segment: the end comes along with it (tcp(7), TCP_CORK).
  const uint32_t sent = SendAll(sink, flow.rest.bytes(), flow.rest.size(), outcome.error, end_follows ? MSG_MORE : 0);
  outcome.bytes = sent;
  if (sent > 0) flow.rest.Consume(sent);
  if (outcome.error == EAGAIN) {
    outcome.error = 0;
    outcome.rest_left = true;
    sink.writable = false;
    if (flow.rest.empty() || !flow.rest.lent()) return outcome;
    flow.slow_sink = true;
    const uint32_t rest = flow.rest.size();
    if (flow.rest.Own(&rest_bytes_)) return outcome;
    Drop(flow, rest);
    return {.result = Result::kNoMemory, .bytes = outcome.bytes, .error = ENOMEM};
  }
  if (outcome.error != 0) outcome.result = Result::kSinkError;
  return outcome;
}

Transfer::Outcome Transfer::Take(Flow& flow, Leg& source, Leg& sink, const RelayOptions& options, int64_t most_bytes,
                                 int64_t now) {
  if (flow.policy.splicing()) {
    std::unique_ptr<sys::Pipe> pipe = pipes_.Take(now);
    if (pipe != nullptr) return Splice(flow, std::move(pipe), source, sink, options, most_bytes);
    ++stats_.no_pipe;
  }
  return Copy(flow, source, sink, options, most_bytes);
}

Transfer::Outcome Transfer::Deliver(Flow& flow, Leg& sink, bool end_follows) {
  return flow.pipe != nullptr ? DeliverPipe(flow, sink) : DeliverBuffer(flow, sink, end_follows);
}

void Transfer::DropRest(Flow& flow) {
  if (flow.pipe != nullptr) {
    Drop(flow, flow.pipe->held_bytes());
    pipes_.Put(std::move(flow.pipe));  // dirty: the pool closes it
  }
  Drop(flow, flow.rest.size());
  flow.rest.Clear();
}

bool Transfer::Preload(Flow& flow, const char* bytes, size_t size) {
  flow.bytes += static_cast<int64_t>(size);
  return flow.rest.Keep(bytes, static_cast<uint32_t>(size), &rest_bytes_);
}

Transfer::Outcome Transfer::Discard(Leg& source) {
  const ssize_t got = Receive(source.fd.get(), ReadArea(kReadBytes), kReadBytes);
  if (got > 0) return {.result = Result::kTaken, .bytes = got};
  if (got == 0) return {.result = Result::kSourceEnd};
  if (errno != EAGAIN) return {.result = Result::kSourceError, .error = errno};
  source.readable = false;
  return {.result = Result::kNothing};
}

}  // namespace sluice::relay
