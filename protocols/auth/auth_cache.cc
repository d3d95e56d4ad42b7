#include "protocols/auth/auth_cache.h"

#include <sys/random.h>

#include <algorithm>
#include <cstring>

#include "absl/hash/hash.h"
#include "absl/strings/ascii.h"
#include "protocols/auth/blake2b.h"

namespace sluice::auth {
namespace {

// Of this process. Without random numbers, which Linux has, the digest would still have 128 bits.
const std::string& ProcessKey() {
  static const std::string key = [] {
    std::string bytes(32, '\0');
    for (size_t filled = 0; filled < bytes.size();) {
      const ssize_t got = getrandom(&bytes[filled], bytes.size() - filled, 0);
      if (got > 0) filled += static_cast<size_t>(got);
      if (got <= 0) break;
    }
    return bytes;
  }();
  return key;
}

std::string Bytes(uint64_t number) { return std::string(reinterpret_cast<const char*>(&number), sizeof(number)); }

std::string HostOf(const access::RequestFacts& facts) {
  std::string host = facts.host.empty() ? facts.target.IpText() : absl::AsciiStrToLower(facts.host);
  while (!host.empty() && host.back() == '.') host.pop_back();
  return host;
}

}  // namespace

AuthCache::AuthCache(const CacheOptions& options)
    : options_(options), most_in_shard_(std::max<size_t>(1, static_cast<size_t>(options.most_entries) / kShards)) {}

std::optional<AuthCache::Key> AuthCache::KeyOf(const Claim& claim, const access::RequestFacts& facts, bool with_target,
                                               const void* scope, const sys::SocketAddress& listener) const {
  const auto has = [this](CacheField field) { return Has(options_.fields, field); };
  const bool by_user = has(CacheField::kUser) && !claim.user.empty();
  if (!by_user && !has(CacheField::kAddress)) return std::nullopt;
  if (has(CacheField::kAddress) && !facts.client.is_ip()) return std::nullopt;
  Blake2b hash(sizeof(Key::digest), ProcessKey());
  if (has(CacheField::kAddress)) hash.AddField(facts.client.IpText());
  if (has(CacheField::kUser)) hash.AddField(claim.user);
  if (has(CacheField::kPassword)) hash.AddField(claim.password);
  if (has(CacheField::kRules)) hash.AddField(Bytes(reinterpret_cast<uintptr_t>(scope)));
  if (has(CacheField::kListener)) hash.AddField(listener.IpText());
  if (has(CacheField::kListenPort)) hash.AddField(Bytes(listener.port()));
  if (with_target) {
    if (has(CacheField::kTarget)) hash.AddField(facts.target.IpText());
    if (has(CacheField::kTargetPort)) hash.AddField(Bytes(facts.port));
    if (has(CacheField::kTargetHost)) hash.AddField(HostOf(facts));
    if (has(CacheField::kOperation)) hash.AddField(Bytes(static_cast<uint64_t>(facts.operation)));
  }
  Key key;
  const std::string digest = hash.Finish();
  std::memcpy(key.digest.data(), digest.data(), sizeof(key.digest));
  return key;
}

template <typename MapKey, typename Value>
void AuthCache::Table<MapKey, Value>::MakeRoom(size_t most, sys::MonotonicNanos now) {
  while (!order.empty() && (order.front().first <= now || order.size() >= most)) {
    const auto slot = slots.find(order.front().second);
    if (slot != slots.end() && slot->second.ends <= order.front().first) slots.erase(slot);
    order.pop_front();
  }
}

std::optional<Identity> AuthCache::Find(const Key& key, sys::MonotonicNanos now) {
  Shard& shard = ShardOf(key.digest[0]);
  sys::MutexLock lock(shard.mutex);
  const auto slot = shard.identities.slots.find(key);
  if (slot == shard.identities.slots.end() || slot->second.ends <= now) return std::nullopt;
  return slot->second.value;
}

void AuthCache::Put(const Key& key, const Identity& identity, sys::MonotonicNanos now) {
  Shard& shard = ShardOf(key.digest[0]);
  sys::MutexLock lock(shard.mutex);
  shard.identities.MakeRoom(most_in_shard_, now);
  const sys::MonotonicNanos ends = now + options_.lifetime_nanos;
  shard.identities.slots.insert_or_assign(key, {identity, ends});
  shard.identities.order.emplace_back(ends, key);
}

bool AuthCache::IsElsewhere(absl::string_view user, const sys::SocketAddress& address, sys::MonotonicNanos now) {
  Shard& shard = ShardOf(absl::Hash<absl::string_view>()(user));
  sys::MutexLock lock(shard.mutex);
  const auto slot = shard.places.slots.find(user);
  if (slot == shard.places.slots.end() || slot->second.ends <= now) return false;
  return slot->second.value.IpText() != address.IpText();
}

void AuthCache::NotePlace(const std::string& user, const sys::SocketAddress& address, sys::MonotonicNanos now) {
  Shard& shard = ShardOf(absl::Hash<absl::string_view>()(user));
  sys::MutexLock lock(shard.mutex);
  shard.places.MakeRoom(most_in_shard_, now);
  const sys::MonotonicNanos ends = now + options_.lifetime_nanos;
  shard.places.slots.insert_or_assign(user, {address, ends});
  shard.places.order.emplace_back(ends, user);
}

size_t AuthCache::size() const {
  size_t sum = 0;
  for (const Shard& shard : shards_) {
    sys::MutexLock lock(shard.mutex);
    sum += shard.identities.slots.size();
  }
  return sum;
}

}  // namespace sluice::auth
