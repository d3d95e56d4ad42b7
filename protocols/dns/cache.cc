#include "protocols/dns/cache.h"

namespace sluice::dns {

const CachedAnswer* Cache::Find(absl::string_view name, sys::MonotonicNanos now) {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return nullptr;
  const Entries::iterator entry = found->second;
  if (entry->second.expires <= now) {
    Erase(entry);
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, entry);
  return &entry->second;
}

void Cache::Insert(absl::string_view name, CachedAnswer answer, sys::MonotonicNanos now) {
  if (const auto found = by_name_.find(name); found != by_name_.end()) Erase(found->second);
  if (max_entries_ == 0 || answer.expires <= now) return;
  if (entries_.size() >= max_entries_) Erase(std::prev(entries_.end()));
  entries_.emplace_front(std::string(name), std::move(answer));
  by_name_.emplace(entries_.front().first, entries_.begin());
}

void Cache::Clear() {
  by_name_.clear();
  entries_.clear();
}

void Cache::Erase(Entries::iterator entry) {
  by_name_.erase(entry->first);
  entries_.erase(entry);
}

}  // namespace sluice::dns
