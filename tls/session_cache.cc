#include "tls/session_cache.h"

#include <utility>

namespace sluice::tls {

void SessionCache::Put(const std::string& identity, Entry entry) {
  sys::MutexLock lock(mutex_);
  if (clock_->Now() - entry.began > kLongestNanos) return;
  auto [it, is_new] = slots_.try_emplace(identity);
  Slot& slot = it->second;
  if (!is_new) order_.erase(slot.used);
  slot.used = order_.insert(order_.end(), identity);
  slot.entries.push_back(std::move(entry));
  if (slot.entries.size() > kMostOfOne) slot.entries.pop_front();
  if (slots_.size() > kMostIdentities) {
    slots_.erase(order_.front());
    order_.pop_front();
  }
}

std::optional<SessionCache::Entry> SessionCache::Take(const std::string& identity) {
  sys::MutexLock lock(mutex_);
  const auto it = slots_.find(identity);
  if (it == slots_.end()) return std::nullopt;
  Slot& slot = it->second;
  std::optional<Entry> found;
  while (!slot.entries.empty() && !found.has_value()) {
    Entry& newest = slot.entries.back();
    SSL_SESSION* const session = newest.session.get();
    const bool is_young = clock_->Now() - newest.began <= kLongestNanos;
    if (is_young && SSL_SESSION_get_protocol_version(session) != TLS1_3_VERSION && SSL_SESSION_up_ref(session) == 1) {
      return Entry{Handle<SSL_SESSION>(session), newest.began};
    }
    if (is_young) found = std::move(newest);
    slot.entries.pop_back();
  }
  if (slot.entries.empty()) {
    order_.erase(slot.used);
    slots_.erase(it);
  }
  return found;
}

size_t SessionCache::identities() const {
  sys::MutexLock lock(mutex_);
  return slots_.size();
}

}  // namespace sluice::tls
