#ifndef SLUICE_RELAY_TRANSFER_H_
#define SLUICE_RELAY_TRANSFER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "relay/framer.h"
#include "relay/session.h"
#include "sys/pipes/pipe_pool.h"

namespace sluice::relay {

// Moves the bytes of one flow: copy_path.cc through the worker's buffer, splice_path.cc through a pipe of the worker's
// pool. One call is one read and what is needed to pass it on; when, how often and what then is the engine's business.
//
// One object a worker: its buffer and pipes serve all sessions, one after the other.
//
// A small message after which the source has nothing more is not sent at once: the flow holds it, in the worker's
// memory, until the engine has heard all events of the turn. So the sends of a turn follow each other closely, and the
// packets reach the other CPU in batches that share an interrupt: 16 to 19% less time a 1 KB exchange at 64
// connections.
//
// Worker only. Every call is a bounded number of non-blocking system calls.
class Transfer {
 public:
  // Of a copying read, unless `-b` says otherwise: measured, a 64 KB buffer costs 0.30 s of processor time a GB against
  // 0.39 with 16 KB.
  static constexpr int kReadBytes = 64 * 1024;
  // The read that ends a grace delay (so a delayed direction moves at most 16 KB, or 64 KB by splice, for each DELAY),
  // and a read after a send that was taken in part only.
  static constexpr int kSlowReadBytes = 16 * 1024;
  // When the rests of this worker have grown over kRestBudgetBytes.
  static constexpr int kScarceReadBytes = 4 * 1024;
  static constexpr int64_t kRestBudgetBytes = 64 * 1024 * 1024;
  // What is sent at the end of the turn only (Outcome::deferred): messages of at most so many bytes, so many at a time,
  // and in so much memory. Beyond 64 in a row there is nothing more to gain, and the first one waits the longer.
  static constexpr int64_t kDeferBytes = 4 * 1024;
  static constexpr int kMostDeferred = 64;
  static constexpr size_t kDeferredAreaBytes = 128 * 1024;

  enum class Result : uint8_t {
    kTaken,      // bytes were taken; the flow may hold a rest (FlowState is not touched: see `rest_left`)
    kNothing,    // the source has nothing now
    kSourceEnd,  // orderly end
    kSourceError,
    kSinkError,  // what was taken could not be given; it is counted in Flow::unsent_bytes
    kNoMemory,   // likewise
  };
  struct Outcome {
    Result result;
    int64_t bytes = 0;                        // taken from the source
    bool rest_left = false;                   // the flow holds a rest: the sink is blocked, or `deferred`
    bool deferred = false;                    // the sink is not blocked: Deliver() at the end of the turn
    int error = 0;                            // errno, positive
    Framer::Next next = Framer::Next::kGoOn;  // of a framed flow
  };

  struct Stats {
    int64_t copied_bytes = 0;
    int64_t spliced_bytes = 0;
    int64_t no_pipe = 0;         // splices that went by copy since no pipe was to be had
    int64_t not_spliceable = 0;  // legs that refused splice
    int64_t turned_to_splice = 0;
    int64_t turned_to_copy = 0;
    int64_t deferred = 0;  // messages sent at the end of their turn
  };

  // Takes once from the source, at most `most_bytes`, and gives to the sink. REQUIRES: the flow holds no rest, the sink
  // is not blocked.
  Outcome Take(Flow& flow, Leg& source, Leg& sink, const RelayOptions& options, int64_t most_bytes, int64_t now);

  // The same for a session with a framer (framed_path.cc): what goes on is what the framer says.
  Outcome TakeFramed(Flow& flow, Leg& source, Leg& sink, const RelayOptions& options, Framer& framer, int direction,
                     int64_t most_bytes, int64_t now);
  // Shows the framer `bytes` (empty: what it holds itself) and gives the sink what it says.
  Outcome Give(Flow& flow, const Leg& source, Leg& sink, Framer& framer, int direction, absl::string_view bytes);
  // Puts bytes behind those that the flow holds. False without memory, or when a pipe holds them.
  [[nodiscard]] bool Append(Flow& flow, absl::string_view bytes);

  // Gives held bytes to the sink until all are gone (kTaken, rest_left false), it is blocked (kTaken, rest_left true),
  // or it fails.
  // `end_follows`: the sink is shut, or closed in order, as soon as all are gone.
  Outcome Deliver(Flow& flow, Leg& sink, bool end_follows);

  // Nothing is deferred any more: Deliver() was called for each.
  void AfterDeferred();
  bool FullOfDeferred() const { return deferred_ >= kMostDeferred; }

  // Lets go of what the flow holds.
  void DropRest(Flow& flow);

  // Puts bytes read by the handshake before everything else. False without memory. REQUIRES: the flow holds no rest.
  [[nodiscard]] bool Preload(Flow& flow, const char* bytes, size_t size);

  // Throws input away; the same results as Take().
  Outcome Discard(Leg& source);

  int64_t rest_bytes() const { return rest_bytes_; }
  int64_t lent_bytes() const { return deferred_bytes_; }
  const Stats& stats() const { return stats_; }
  const sys::PipePool& pipes() const { return pipes_; }

 private:
  Outcome Copy(Flow& flow, Leg& source, Leg& sink, const RelayOptions& options, int64_t most_bytes);
  Outcome Splice(Flow& flow, std::unique_ptr<sys::Pipe> pipe, Leg& source, Leg& sink, const RelayOptions& options,
                 int64_t most_bytes);
  Outcome SpliceRaw(Flow& flow, std::unique_ptr<sys::Pipe> pipe, Leg& source, Leg& sink, const RelayOptions& options,
                    Framer& framer, int direction, int64_t raw, int64_t most_bytes);
  bool SplicesRaw(const Flow& flow, const Leg& source, const RelayOptions& options, int direction, int64_t raw) const;
  // Where the next read of so many bytes goes; behind it, the memory may be asked to stay (Defer).
  char* ReadArea(int asked);
  Outcome ReadInto(Leg& source, int asked);
  Outcome ReadThrough(Leg& source, int asked);
  bool MayDefer(const Leg& source, int64_t bytes) const;
  // `bytes` lie where PutInReadArea() puts them.
  Outcome Defer(Flow& flow, int64_t bytes);
  // Puts both pieces, one behind the other, where the next Defer() looks for them; `second` may lie there already (not
  // what was read with a large `-b`).
  void PutInReadArea(absl::string_view first, absl::string_view second);
  Outcome DeliverBuffer(Flow& flow, Leg& sink, bool end_follows);
  Outcome DeliverPipe(Flow& flow, Leg& sink);
  int ReadBytes(const Flow& flow, const RelayOptions& options, int64_t most_bytes) const;
  void Drop(Flow& flow, int64_t bytes);

  std::string framed_;  // what a framer puts in place of what was read; empty between calls
  // Deferred messages with their headers, and then room for a read; what is not touched takes no memory.
  std::unique_ptr<char[]> area_{new char[kDeferredAreaBytes + RestBuffer::kHeaderBytes + kReadBytes]};
  std::vector<char> large_;  // reads of more than kReadBytes (`-b`)
  size_t area_used_ = 0;
  int deferred_ = 0;
  int64_t deferred_bytes_ = 0;
  sys::PipePool pipes_;
  int64_t rest_bytes_ = 0;
  Stats stats_;
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_TRANSFER_H_
