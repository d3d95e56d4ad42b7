#ifndef SLUICE_PROTOCOLS_DNS_RESOLVER_H_
#define SLUICE_PROTOCOLS_DNS_RESOLVER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "protocols/dns/known_names.h"
#include "protocols/dns/question.h"
#include "protocols/dns/result.h"
#include "protocols/dns/server_plan.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::dns {

struct ResolverOptions {
  // `nserver`: up to kMaxNameServers, tried in this order; names are then taken as absolute. Empty: the name servers,
  // search list and options of `resolv_conf_path`.
  std::vector<NameServer> name_servers;
  // `timeouts`, DNS: how long one of `name_servers` has for its answer (server_plan.h).
  int64_t timeout_nanos = 15 * sys::kNanosPerSecond;
  // `nscache`, `nscache6`: names whose A and AAAA answers are kept; 0 = none. The default is about 700 KB when full.
  size_t cache_ipv4_entries = 1024;
  size_t cache_ipv6_entries = 1024;
  std::vector<StaticRecord> static_records;  // `nsrecord`
  bool fake_resolve = false;                 // `fakeresolve`
  // Look-ups that may wait for name servers at once. Each takes about 1 KB; a flood of names beyond it fails at once
  // rather than keeping everybody waiting.
  size_t max_pending = 4096;
  // Read at start, and again after they changed (looked at once a second while there are look-ups). Empty: no such
  // file.
  std::string hosts_path = "/etc/hosts";
  std::string resolv_conf_path = "/etc/resolv.conf";
  // Where the name servers of that file listen, which cannot say it itself; tests have servers on other ports.
  uint16_t resolv_conf_port = 53;
  // What the TTLs of cached answers are measured with; outlives the resolver. nullptr: the system's. (Time-outs always
  // are the system's.)
  const sys::Clock* cache_clock = nullptr;
};

struct ResolverStats {
  int64_t queries_sent = 0;          // to name servers
  int64_t answered_locally = 0;      // by TryCache() or without a query: literals, static records, hosts, caches
  int64_t refused = 0;               // because too many were pending
  std::array<int64_t, 9> results{};  // callbacks by Outcome
};

// Names to addresses for the whole process, without the C library (getaddrinfo and NSS do not work in a static binary).
// One thread runs c-ares; everybody else hands in a question and is called back, or waits.
//
//   worker:           if (std::optional<Result> known = resolver.TryCache(query)) ... connect at once
//   handshake thread: Result result = resolver.ResolveBlocking(query, deadline);
//
// known_names.h says what is answered without a name server, server_plan.h in which order and how long servers are
// asked, lookups.h how the two address families and the search list go together, address_order.h how addresses are
// sorted. A name server that is silent delays nothing but the names that only it knows.
//
// Names are checked (host_name.h); what is none ends as kInvalidName without a query. The addresses of a result are
// checked by the caller's rules and used as they are: asking again between check and connect would let the answer
// change.
//
// Threads: Create() at start-up or reload (it reads two files); everything else as said at each method. All but the
// destructor are thread-safe.
class Resolver {
 public:
  using Callback = absl::AnyInvocable<void(Result)>;
  using NamesCallback = absl::AnyInvocable<void(NamesResult)>;
  using ForwardCallback = absl::AnyInvocable<void(Outcome outcome, std::string answer)>;

  // Starts the thread. InvalidArgument for options that make no sense, else what the kernel said.
  static absl::StatusOr<std::unique_ptr<Resolver>> Create(ResolverOptions options);

  // What is pending ends as kCancelled before this returns; if a callback destroys the resolver, soon after. No other
  // call may be running.
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Calls `callback` exactly once, on the resolver thread: it must not block there. By `query.deadline` at the latest,
  // or else when all name servers had their time. Never blocks.
  void Resolve(Query query, Callback callback);

  // Waits for the result, until `deadline` (CLOCK_MONOTONIC) at the longest. Handshake thread only (blocks); not from a
  // callback.
  Result ResolveBlocking(Query query, sys::MonotonicNanos deadline);

  // The result, if no name server need be asked for it; also for what is no name. Never blocks, reads no file: for
  // workers.
  std::optional<Result> TryCache(const Query& query);

  // The names of an address (PTR), as `auth dnsname` needs them. They are what the owner of the address claims: believe
  // one only when its addresses include this one. `deadline` as in Query.
  void ResolveNames(const sys::SocketAddress& address, sys::MonotonicNanos deadline, NamesCallback callback);
  NamesResult ResolveNamesBlocking(const sys::SocketAddress& address, sys::MonotonicNanos deadline);

  // Sends a client's query message of any type to the name servers, one after the other as for look-ups, and calls back
  // (once, on the resolver thread) with kOk and the answer under the client's id, or with why there is none. Nothing is
  // cached. kInvalidName for what is not a query with one question. The answer is as the name server made it, hostile
  // input, and whole: it comes over TCP if it is longer than 512 bytes, so it may need cutting for the client.
  void Forward(std::string message, ForwardCallback callback);

  ResolverStats stats() const;

 private:
  class Core;  // what runs on the thread

  explicit Resolver(std::shared_ptr<Core> core);

  const std::shared_ptr<Core> core_;
};

}  // namespace sluice::dns

#endif  // SLUICE_PROTOCOLS_DNS_RESOLVER_H_
