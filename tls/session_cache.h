#ifndef SLUICE_TLS_SESSION_CACHE_H_
#define SLUICE_TLS_SESSION_CACHE_H_

#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "sys/thread/clock.h"
#include "sys/thread/mutex.h"
#include "tls/handle.h"

namespace sluice::tls {

// Sessions with upstreams that can be resumed, by identity: whatever must be the same for a session to be the same (the
// name asked for and checked, address and port). One cache belongs to one ClientContext, so nothing that was agreed
// under other rules is ever offered.
//
// A TLS 1.3 session is taken out when it is used: its ticket is for one use (RFC 8446 appendix C.4). None is older than
// kLongestNanos, counted from its full handshake, however often it was renewed.
//
// Thread-safe: a short mutex; workers come here once a ticket.
class SessionCache {
 public:
  static constexpr size_t kMostIdentities = 4096;
  static constexpr size_t kMostOfOne = 4;
  static constexpr int64_t kLongestNanos = 24 * 3600 * sys::kNanosPerSecond;

  struct Entry {
    Handle<SSL_SESSION> session;
    sys::MonotonicNanos began = 0;  // its full handshake
  };

  explicit SessionCache(const sys::Clock* clock = &sys::Clock::System()) : clock_(clock) {}

  void Put(const std::string& identity, Entry entry);
  // The newest that is still good.
  std::optional<Entry> Take(const std::string& identity);

  size_t identities() const;

 private:
  struct Slot {
    std::list<Entry> entries;  // oldest first
    std::list<std::string>::iterator used;
  };

  const sys::Clock* const clock_;
  mutable sys::Mutex mutex_;
  absl::flat_hash_map<std::string, Slot> slots_ ABSL_GUARDED_BY(mutex_);
  std::list<std::string> order_ ABSL_GUARDED_BY(mutex_);  // least recently filled first
};

}  // namespace sluice::tls

#endif  // SLUICE_TLS_SESSION_CACHE_H_
