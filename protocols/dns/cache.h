#ifndef SLUICE_PROTOCOLS_DNS_CACHE_H_
#define SLUICE_PROTOCOLS_DNS_CACHE_H_

#include <cstddef>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "protocols/dns/result.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::dns {

// What is kept of one answer for one address family.
struct CachedAnswer {
  Outcome outcome = Outcome::kNoData;
  std::vector<sys::SocketAddress> addresses;
  sys::MonotonicNanos expires = 0;
};

// Answers by name until they expire; bounded, the least recently used goes first. One for each address family (nscache
// and nscache6).
//
// An entry with four IPv4 addresses takes about 350 bytes.
//
// Thread-compatible.
class Cache {
 public:
  // `max_entries` 0: nothing is kept.
  explicit Cache(size_t max_entries) : max_entries_(max_entries) {}
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  // The entry of `name` that has not expired at `now`, or nullptr. Valid until the next call.
  const CachedAnswer* Find(absl::string_view name, sys::MonotonicNanos now);

  // Replaces the entry of `name`. One that expires at `now` or before is not kept.
  void Insert(absl::string_view name, CachedAnswer answer, sys::MonotonicNanos now);

  void Clear();
  size_t size() const { return by_name_.size(); }

 private:
  using Entries = std::list<std::pair<const std::string, CachedAnswer>>;

  void Erase(Entries::iterator entry);

  const size_t max_entries_;
  Entries entries_;  // the most recently used first
  // The keys are views of the names in `entries_`, whose nodes do not move.
  absl::flat_hash_map<absl::string_view, Entries::iterator> by_name_;
};

}  // namespace sluice::dns

#endif  // SLUICE_PROTOCOLS_DNS_CACHE_H_
