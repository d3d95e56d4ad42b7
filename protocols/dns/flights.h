#ifndef SLUICE_PROTOCOLS_DNS_FLIGHTS_H_
#define SLUICE_PROTOCOLS_DNS_FLIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "protocols/dns/answer.h"
#include "protocols/dns/channel.h"
#include "protocols/dns/server_plan.h"
#include "sys/thread/clock.h"

namespace sluice::dns {

// What one flight asks: one type of record of one complete name.
using FlightKey = std::pair<std::string, RecordType>;

// Questions on their way to the name servers. Each (name, type) flies once, however many look-ups wait for it: a name
// with a TTL of 0 and a thousand clients costs one query at a time.
//
//   asked ---- proper answer, NXDOMAIN or NODATA of any server ------------------------------> landed
//     |  ^
//     |  +---- SERVFAIL, REFUSED, nonsense, unreachable, or silent for first_try: next server
//     +------- every server failed or was silent to the end ---------------------------------> landed (failure)
//
// A flight goes on when nobody waits any more, since its answer is worth caching; server_plan.h bounds its time and
// `max_flights` their number.
//
// Threads: the resolver thread only.
class Flights {
 public:
  using Landed =
      absl::AnyInvocable<void(const FlightKey& key, const Answer& answer, absl::Span<const uint64_t> waiters)>;

  // How a forwarded query ended: kOk with the answer as it came, or why there is none.
  using Forwarded = absl::AnyInvocable<void(uint64_t waiter, Outcome outcome, std::vector<uint8_t> answer)>;

  // `epoll_fd` is borrowed. `landed` and `forwarded` are called from Run() only, so that no caller is called back
  // within its own call.
  Flights(int epoll_fd, size_t max_flights, Landed landed, Forwarded forwarded);
  // Flights in the air never land.
  ~Flights();
  Flights(const Flights&) = delete;
  Flights& operator=(const Flights&) = delete;

  // Other name servers, from now on. What is in the air is asked again there. An error leaves everything as it was.
  absl::Status SetPlan(const ServerPlan& plan, sys::MonotonicNanos now);
  const ServerPlan& plan() const { return plan_; }

  // Adds `waiter` to the flight of `key`, which starts if there is none. When it started; nothing if there are too
  // many.
  std::optional<sys::MonotonicNanos> Join(const FlightKey& key, uint64_t waiter, sys::MonotonicNanos now);

  // Sends a query of any type, as it is but for its id, on a flight of its own. An answer that says SERVFAIL or REFUSED
  // is passed on only when no other server has a better one. False if there are too many flights. The caller has
  // checked that it is a query with one question.
  bool Forward(std::vector<uint8_t> query, uint64_t waiter, sys::MonotonicNanos now);

  // An epoll event under Channel::Token().
  void Process(uint64_t token, uint32_t events);
  // Everything that is due at `now`: replies that came in, servers that were silent for too long.
  void Run(sys::MonotonicNanos now);
  // When Run() should be called next without an event; nothing if there is no need.
  std::optional<sys::MonotonicNanos> NextRun() const;

  size_t size() const { return flights_.size(); }
  int64_t queries_sent() const;

 private:
  struct Flight {
    FlightKey key;                      // not of a forwarded query
    std::vector<uint8_t> query;         // of a forwarded one only
    std::vector<uint8_t> worst_answer;  // to a forwarded one: SERVFAIL or REFUSED
    std::vector<uint64_t> waiters;
    sys::MonotonicNanos started = 0;
    sys::MonotonicNanos next_server_at = 0;  // 0: no server is left
    int first_server = 0;                    // an index of channels_; the others follow cyclically
    int asked = 0;                           // servers
    int failed = 0;                          // of those, how many cannot answer any more
    Outcome worst = Outcome::kTimeout;       // the most telling failure so far
  };

  // A new flight with one waiter; nullptr if there are too many.
  Flight* Launch(const FlightKey& key, std::vector<uint8_t> query, uint64_t waiter, sys::MonotonicNanos now);
  void AskNextServer(uint64_t id, Flight& flight, sys::MonotonicNanos now);
  void SetNextServerTime(uint64_t id, Flight& flight, sys::MonotonicNanos when);
  void Handle(Channel::Reply& reply, sys::MonotonicNanos now);
  void HandleFailure(uint64_t id, Flight& flight, Outcome outcome, sys::MonotonicNanos now);
  void HandleForwarded(Channel::Reply& reply, Flight& flight, sys::MonotonicNanos now);
  std::unique_ptr<Flight> Remove(uint64_t id);
  void Land(uint64_t id, const Answer& answer);
  void AskAgainEverywhere(sys::MonotonicNanos now);

  const int epoll_fd_;
  const size_t max_flights_;
  Landed landed_;
  Forwarded forwarded_;
  ServerPlan plan_;
  std::vector<Channel::Reply> replies_;  // outlives channels_, which write to it
  std::vector<std::unique_ptr<Channel>> channels_;
  uint32_t next_channel_id_ = 1;  // 0 is the wake-up's
  uint64_t next_flight_id_ = 1;
  int64_t queries_of_old_channels_ = 0;
  int next_rotation_ = 0;
  sys::MonotonicNanos last_tick_ = 0;
  absl::flat_hash_map<uint64_t, std::unique_ptr<Flight>> flights_;
  absl::flat_hash_map<FlightKey, uint64_t> by_key_;
  std::set<std::pair<sys::MonotonicNanos, uint64_t>> next_servers_;  // (Flight::next_server_at, id)
};

}  // namespace sluice::dns

#endif  // SLUICE_PROTOCOLS_DNS_FLIGHTS_H_
