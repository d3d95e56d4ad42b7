#ifndef SLUICE_PROTOCOLS_DNS_LOOKUPS_H_
#define SLUICE_PROTOCOLS_DNS_LOOKUPS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "protocols/dns/answer.h"
#include "protocols/dns/flights.h"
#include "protocols/dns/known_names.h"
#include "protocols/dns/question.h"
#include "protocols/dns/result.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::dns {

using Callback = absl::AnyInvocable<void(Result)>;
using NamesCallback = absl::AnyInvocable<void(NamesResult)>;

// RFC 8305 section 3: how long the answer for one family waits for that of the other.
constexpr int64_t kResolutionDelayNanos = 50 * sys::kNanosPerMilli;

// The look-ups that wait for name servers: each goes through its search list and asks for one or two types of record at
// a time.
//
//   candidate -> ask A and AAAA -> both answered ----------------> addresses: done; NXDOMAIN, NODATA, failure: next
//                     |                                            candidate; silence: done
//                     +-> one has addresses, 50 ms passed -------> done; the late answer still enters the cache
//                     +-> the deadline of the look-up ------------> done, with what is there
//
// Threads: the resolver thread only. Callbacks are called from Start(), OnLanded(), Run() and CancelAll(); they must
// not call this object.
class Lookups {
 public:
  // All are borrowed.
  Lookups(KnownNames& known, Flights& flights, size_t max_pending)
      : known_(known), flights_(flights), max_pending_(max_pending) {}
  Lookups(const Lookups&) = delete;
  Lookups& operator=(const Lookups&) = delete;

  // Exactly one call of `callback` for each, perhaps at once. `deadline` 0: after the tries of all servers.
  void Start(const Question& question, sys::MonotonicNanos deadline, Callback callback, sys::MonotonicNanos now);
  void StartReverse(const sys::SocketAddress& address, sys::MonotonicNanos deadline, NamesCallback callback,
                    sys::MonotonicNanos now);

  void OnLanded(const FlightKey& key, const Answer& answer, absl::Span<const uint64_t> waiters,
                sys::MonotonicNanos now);
  // Deadlines and resolution delays that are due.
  void Run(sys::MonotonicNanos now);
  std::optional<sys::MonotonicNanos> NextRun() const;
  void CancelAll();

  size_t size() const { return lookups_.size(); }
  // Look-ups that were refused because `max_pending` others were waiting.
  int64_t refused() const { return refused_; }

 private:
  struct Part {
    RecordType type;
    std::optional<Answer> answer;
  };
  struct Lookup {
    Question question;  // for a reverse look-up the reverse name
    std::variant<Callback, NamesCallback> callback;
    std::vector<std::string> candidates;
    size_t next = 0;                 // of candidates
    std::vector<Part> parts;         // of the current candidate, candidates[next - 1]
    Outcome failure = Outcome::kOk;  // of an earlier candidate
    bool exists = false;             // an earlier candidate was NODATA
    bool asked = false;              // a name server
    sys::MonotonicNanos deadline = 0;
    sys::MonotonicNanos wake_at = 0;  // its entry in wakes_; 0: none
  };

  void Add(std::unique_ptr<Lookup> lookup, sys::MonotonicNanos deadline, sys::MonotonicNanos now);
  // Goes on until an answer has to be waited for, or the look-up ends.
  void Advance(uint64_t id, Lookup& lookup, sys::MonotonicNanos now);
  // False when the look-up must wait for the parts of this candidate.
  bool AskCandidate(uint64_t id, Lookup& lookup, sys::MonotonicNanos now);
  // What the parts of the candidate give; nothing if the next candidate shall be asked.
  std::optional<Result> Conclude(Lookup& lookup) const;
  void Finish(uint64_t id, Lookup& lookup, Result result);
  void SetWake(uint64_t id, Lookup& lookup, sys::MonotonicNanos when);

  KnownNames& known_;
  Flights& flights_;
  const size_t max_pending_;
  int64_t refused_ = 0;
  uint64_t next_id_ = 1;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Lookup>> lookups_;
  std::set<std::pair<sys::MonotonicNanos, uint64_t>> wakes_;
};

}  // namespace sluice::dns

#endif  // SLUICE_PROTOCOLS_DNS_LOOKUPS_H_
