// Transfer's way for sessions with a framer: what was read goes on as the framer says; stretches that nobody has to
// look at go through a pipe where that pays.

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "relay/transfer.h"

namespace sluice::relay {
namespace {

// The same through a transform. A head and a small body are one piece, and so one record.
size_t SendBothThrough(Leg& sink, absl::string_view first, absl::string_view second, int& error) {
  constexpr size_t kOnePiece = 16 * 1024;
  std::string joined;
  if (!first.empty() && !second.empty() && first.size() + second.size() <= kOnePiece) {
    joined.reserve(first.size() + second.size());
    joined.append(first.data(), first.size());
    joined.append(second.data(), second.size());
    first = joined;
    second = {};
  }
  size_t sent = 0;
  error = 0;
  for (absl::string_view piece : {first, second}) {
    while (!piece.empty() && error == 0) {
      if (sink.transform->holds_output()) {
        error = EAGAIN;
        break;
      }
      const int64_t n = sink.transform->Write(sink.fd.get(), piece.data(), piece.size());
      if (n < 0) {
        error = static_cast<int>(-n);
        break;
      }
      sent += static_cast<size_t>(n);
      piece.remove_prefix(static_cast<size_t>(n));
    }
  }
  if (error == 0 && sink.transform->holds_output()) error = EAGAIN;
  return sent;
}

// Both pieces, in this order, until everything is taken, the sink is blocked or it fails. Returns the bytes taken;
// `error` is 0, EAGAIN or what failed.
size_t SendBoth(Leg& sink, absl::string_view first, absl::string_view second, int& error) {
  if (sink.transform != nullptr) return SendBothThrough(sink, first, second, error);
  const int fd = sink.fd.get();
  const size_t size = first.size() + second.size();
  size_t sent = 0;
  error = 0;
  while (sent < size) {
    iovec pieces[2];
    int count = 0;
    const size_t of_first = std::min(sent, first.size());
    const size_t of_second = sent - of_first;
    if (of_first < first.size()) {
      pieces[count++] = {const_cast<char*>(first.data()) + of_first, first.size() - of_first};
    }
    if (of_second < second.size()) {
      pieces[count++] = {const_cast<char*>(second.data()) + of_second, second.size() - of_second};
    }
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = static_cast<size_t>(count);
    const ssize_t n = sendmsg(fd, &message, MSG_NOSIGNAL);
    if (n >= 0) {
      sent += static_cast<size_t>(n);
    } else if (errno != EINTR) {
      error = errno;
      break;
    }
  }
  return sent;
}

}  // namespace

bool Transfer::Append(Flow& flow, absl::string_view bytes) {
  if (bytes.empty()) return true;
  if (flow.pipe != nullptr) return false;
  if (flow.rest.empty()) return flow.rest.Keep(bytes.data(), static_cast<uint32_t>(bytes.size()), &rest_bytes_);
  std::string all(flow.rest.bytes(), flow.rest.size());
  all.append(bytes.data(), bytes.size());
  flow.rest.Clear();
  return flow.rest.Keep(all.data(), static_cast<uint32_t>(all.size()), &rest_bytes_);
}

Transfer::Outcome Transfer::Give(Flow& flow, const Leg& source, Leg& sink, Framer& framer, int direction,
                                 absl::string_view bytes) {
  Outcome outcome{.result = Result::kTaken, .bytes = static_cast<int64_t>(bytes.size())};
  framed_.clear();
  size_t at = 0;
  bool blocked = false;
  for (bool more = true; more;) {
    const Framer::Step step = framer.OnBytes(direction, bytes.substr(at), framed_);
    absl::string_view pass = bytes.substr(at + step.pass_begin, step.pass_bytes);
    at += step.taken;
    outcome.next = step.next;
    more = step.next == Framer::Next::kGoOn && step.taken > 0 && at < bytes.size();
    if (step.next == Framer::Next::kTunnel && pass.empty()) pass = bytes.substr(at);  // nobody's to read any more
    const int64_t size = static_cast<int64_t>(framed_.size() + pass.size());
    const bool may_wait = step.next == Framer::Next::kGoOn || step.next == Framer::Next::kClose;
    if (!blocked && size > 0 && may_wait && !more && MayDefer(source, size)) {
      PutInReadArea(framed_, pass);
      outcome = Defer(flow, size);
      outcome.bytes = static_cast<int64_t>(bytes.size());
      outcome.next = step.next;
      return outcome;
    }
    if (!blocked) {
      const size_t sent = SendBoth(sink, framed_, pass, outcome.error);
      if (outcome.error == 0) {
        framed_.clear();
        continue;
      }
      if (outcome.error != EAGAIN) {
        Drop(flow, static_cast<int64_t>(framed_.size() + pass.size() - sent));
        outcome.result = Result::kSinkError;
        return outcome;
      }
      blocked = true;
      framed_.append(pass.data(), pass.size());
      framed_.erase(0, sent);
    } else {
      framed_.append(pass.data(), pass.size());
    }
  }
  outcome.error = 0;
  flow.slow_sink = blocked;
  if (!blocked) return outcome;
  sink.writable = false;
  outcome.rest_left = true;
  // Where the transform has taken everything, it is all that is held.
  if (!framed_.empty() && !flow.rest.Keep(framed_.data(), static_cast<uint32_t>(framed_.size()), &rest_bytes_)) {
    Drop(flow, static_cast<int64_t>(framed_.size()));
    return {.result = Result::kNoMemory, .bytes = outcome.bytes, .error = ENOMEM};
  }
  return outcome;
}

// A stretch of known length is worth a pipe if it is long; one without a known end when the reads say so, like a plain
// relay. splice(2) stops at an urgent byte, which only recv(2) takes.
bool Transfer::SplicesRaw(const Flow& flow, const Leg& source, const RelayOptions& options, int direction,
                          int64_t raw) const {
  if (raw == 0 || source.urgent_seen || !flow.policy.may_splice()) return false;
  switch (PathPolicy::ModeOf(options.splice, direction == 0)) {
    case PathPolicy::Mode::kNever:
      return false;
    case PathPolicy::Mode::kAlways:
      return true;
    case PathPolicy::Mode::kAutomatic:
      return raw == Framer::kUntilEnd ? flow.policy.splicing() : raw >= options.splice.min_bytes;
  }
  return false;
}

Transfer::Outcome Transfer::SpliceRaw(Flow& flow, std::unique_ptr<sys::Pipe> pipe, Leg& source, Leg& sink,
                                      const RelayOptions& options, Framer& framer, int direction, int64_t raw,
                                      int64_t most_bytes) {
  const int64_t most =
      std::min({raw, most_bytes, flow.after_delay ? int64_t{kReadBytes} : int64_t{pipe->capacity_bytes()}});
  const int64_t got = pipe->FillFrom(source.fd.get(), most);
  if (got <= 0) {
    pipes_.Put(std::move(pipe));
    if (got == 0) return {.result = Result::kSourceEnd};
    if (got == -EINTR) return {.result = Result::kTaken};
    if (got == -EAGAIN) {
      source.readable = false;
      return {.result = Result::kNothing};
    }
    if (got == -EINVAL) {  // not a leg that splice works on: the same bytes, by copy
      ++stats_.not_spliceable;
      flow.policy.Refuse();
      return {.result = Result::kTaken};
    }
    return {.result = Result::kSourceError, .error = static_cast<int>(-got)};
  }
  flow.bytes += got;
  flow.spliced_bytes += got;
  stats_.spliced_bytes += got;
  if (raw == Framer::kUntilEnd) flow.policy.OnSpliced(options.splice, got);
  const Framer::Next next = framer.OnRaw(direction, got);
  flow.pipe = std::move(pipe);
  Outcome outcome = DeliverPipe(flow, sink);
  outcome.bytes = got;
  outcome.next = next;
  flow.slow_sink = outcome.rest_left;
  if (outcome.result == Result::kSinkError) DropRest(flow);
  return outcome;
}

Transfer::Outcome Transfer::TakeFramed(Flow& flow, Leg& source, Leg& sink, const RelayOptions& options, Framer& framer,
                                       int direction, int64_t most_bytes, int64_t now) {
  const int64_t raw = framer.RawBytes(direction);
  if (SplicesRaw(flow, source, options, direction, raw)) {
    std::unique_ptr<sys::Pipe> pipe = pipes_.Take(now);
    if (pipe != nullptr) {
      return SpliceRaw(flow, std::move(pipe), source, sink, options, framer, direction, raw, most_bytes);
    }
    ++stats_.no_pipe;
  }
  const int asked = ReadBytes(flow, options, most_bytes);
  const Outcome read = ReadInto(source, asked);
  if (read.result != Result::kTaken) return read;
  flow.bytes += read.bytes;
  stats_.copied_bytes += read.bytes;
  if (raw == Framer::kUntilEnd) flow.policy.OnCopied(options.splice, read.bytes, asked);
  return Give(flow, source, sink, framer, direction,
              absl::string_view(ReadArea(asked), static_cast<size_t>(read.bytes)));
}

}  // namespace sluice::relay
