// Transfer's way through a pipe.
//
// A pipe comes empty from the pool and goes back empty at the end of the turn; it stays with the flow only while the
// sink is blocked. It is filled only when empty, so an EAGAIN on the way in always means that the source has nothing
// (pipes_test, FullPipeAndEmptySocketBothSayEagain), and one fill takes at most what the pipe holds.

#include <algorithm>
#include <cerrno>
#include <utility>

#include "relay/transfer.h"

namespace sluice::relay {
namespace {

// Until the pipe is empty, the sink is blocked (EAGAIN) or fails. A partial splice is tried again, for the reason that
// SendAll gives.
int DrainAll(sys::Pipe& pipe, int fd) {
  while (!pipe.empty()) {
    const int64_t n = pipe.DrainTo(fd, pipe.held_bytes());
    if (n < 0 && n != -EINTR) return static_cast<int>(-n);
    // A pipe that holds bytes and gives none would be a kernel fault; the sink is treated as broken rather than tried
    // for ever.
    if (n == 0) return EIO;
  }
  return 0;
}

}  // namespace

Transfer::Outcome Transfer::Splice(Flow& flow, std::unique_ptr<sys::Pipe> pipe, Leg& source, Leg& sink,
                                   const RelayOptions& options, int64_t most_bytes) {
  const int64_t most = std::min<int64_t>(most_bytes, flow.after_delay ? Transfer::kReadBytes : pipe->capacity_bytes());
  const int64_t got = pipe->FillFrom(source.fd.get(), most);
  if (got <= 0) {
    pipes_.Put(std::move(pipe));
    // Before an urgent byte with the end behind it splice(2) says 0, and no event may have told of the byte yet:
    // recv(2) takes it, or says 0 as well.
    if (got == 0)
      return source.is_tcp ? Copy(flow, source, sink, options, most_bytes) : Outcome{.result = Result::kSourceEnd};
    if (got == -EAGAIN) {
      // splice(2) stops at an urgent byte and says EAGAIN there, too: recv(2) takes it.
      if (source.urgent_seen) return Copy(flow, source, sink, options, most_bytes);
      source.readable = false;
      return {.result = Result::kNothing};
    }
    if (got == -EINTR) return {.result = Result::kTaken};
    if (got == -EINVAL) {  // not a leg that splice works on: the same bytes, by copy
      ++stats_.not_spliceable;
      flow.policy.Refuse();
      return Copy(flow, source, sink, options, most_bytes);
    }
    return {.result = Result::kSourceError, .error = static_cast<int>(-got)};
  }

  flow.bytes += got;
  flow.spliced_bytes += got;
  stats_.spliced_bytes += got;
  flow.policy.OnSpliced(options.splice, got);
  if (!flow.policy.splicing()) ++stats_.turned_to_copy;

  Outcome outcome{.result = Result::kTaken, .bytes = got};
  outcome.error = DrainAll(*pipe, sink.fd.get());
  if (outcome.error == 0) {
    pipes_.Put(std::move(pipe));
    flow.slow_sink = false;
  } else if (outcome.error == EAGAIN) {
    outcome.error = 0;
    outcome.rest_left = true;
    sink.writable = false;
    flow.slow_sink = true;
    flow.pipe = std::move(pipe);
  } else {
    Drop(flow, pipe->held_bytes());
    pipes_.Put(std::move(pipe));
    outcome.result = Result::kSinkError;
  }
  return outcome;
}

Transfer::Outcome Transfer::DeliverPipe(Flow& flow, Leg& sink) {
  const int64_t held = flow.pipe->held_bytes();
  Outcome outcome{.result = Result::kTaken};
  outcome.error = DrainAll(*flow.pipe, sink.fd.get());
  outcome.bytes = held - flow.pipe->held_bytes();
  if (outcome.error == 0) {
    pipes_.Put(std::move(flow.pipe));
  } else if (outcome.error == EAGAIN) {
    outcome.error = 0;
    outcome.rest_left = true;
    sink.writable = false;
  } else {
    outcome.result = Result::kSinkError;
  }
  return outcome;
}

}  // namespace sluice::relay
