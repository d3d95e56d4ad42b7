#ifndef SLUICE_PROTOCOLS_AUTH_AUTH_CACHE_H_
#define SLUICE_PROTOCOLS_AUTH_AUTH_CACHE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "protocols/access/request_facts.h"
#include "protocols/auth/auth_options.h"
#include "protocols/auth/identity.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"
#include "sys/thread/mutex.h"

namespace sluice::auth {

// Who was found to be who, for `auth cache` and `cacheacl`: the next request that is equal in the key's fields
// (`authcache`) is spared the check of its password.
//
// An entry holds what was found out, and no decision: the rules are asked for each request, which takes less time than
// looking a decision up, so that none is ever applied to a request that it was not made for. (That the key covers what
// the rules read, where `cacheacl` stands, is checked when the configuration is loaded, since 3proxy would decide by
// the key alone.) Entries end with their time and with their configuration.
//
// A key is a digest under a secret of the process: no password is kept. When there are too many entries, those that end
// first make room.
//
// Thread-safe; workers take the mutexes, which are held for a look-up only.
class AuthCache {
 public:
  explicit AuthCache(const CacheOptions& options);

  // What a request is known by here.
  struct Key {
    std::array<uint64_t, 2> digest{};
    friend bool operator==(const Key& a, const Key& b) { return a.digest == b.digest; }
    template <typename H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.digest);
    }
  };
  // `with_target`: the identity may depend on the target (RADIUS). `scope`: what else sets requests apart (the list of
  // rules, for the field acl). Nothing where the request has none of what would identify its client.
  std::optional<Key> KeyOf(const Claim& claim, const access::RequestFacts& facts, bool with_target, const void* scope,
                           const sys::SocketAddress& listener) const;

  std::optional<Identity> Find(const Key& key, sys::MonotonicNanos now);
  void Put(const Key& key, const Identity& identity, sys::MonotonicNanos now);

  // The field limit: whether `user` has come from another address than this one and that still counts.
  bool IsElsewhere(absl::string_view user, const sys::SocketAddress& address, sys::MonotonicNanos now);
  void NotePlace(const std::string& user, const sys::SocketAddress& address, sys::MonotonicNanos now);

  const CacheOptions& options() const { return options_; }
  size_t size() const;

 private:
  static constexpr size_t kShards = 16;

  template <typename MapKey, typename Value>
  struct Table {
    struct Slot {
      Value value;
      sys::MonotonicNanos ends = 0;
    };
    absl::flat_hash_map<MapKey, Slot> slots;
    // In the order in which they end, since all live equally long; one that was put anew is there twice.
    std::deque<std::pair<sys::MonotonicNanos, MapKey>> order;

    void MakeRoom(size_t most, sys::MonotonicNanos now);
  };
  struct Shard {
    mutable sys::Mutex mutex;
    Table<Key, Identity> identities ABSL_GUARDED_BY(mutex);
    Table<std::string, sys::SocketAddress> places ABSL_GUARDED_BY(mutex);
  };

  Shard& ShardOf(uint64_t hash) { return shards_[hash % kShards]; }

  const CacheOptions options_;
  const size_t most_in_shard_;
  std::array<Shard, kShards> shards_;
};

}  // namespace sluice::auth

#endif  // SLUICE_PROTOCOLS_AUTH_AUTH_CACHE_H_
