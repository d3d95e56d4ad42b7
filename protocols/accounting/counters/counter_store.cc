#include "protocols/accounting/counters/counter_store.h"

#include <algorithm>

#include "sys/thread/clock.h"

namespace sluice::accounting {
namespace {

int64_t NowSeconds() { return sys::Clock::System().WallNanos() / sys::kNanosPerSecond; }

int64_t NextReset(Rotation reset, int64_t since_seconds) {
  LogTarget calendar;  // which has the calendar's periods
  calendar.kind = LogTarget::Kind::kFile;
  calendar.rotation = reset;
  return calendar.NextChange(since_seconds);
}

}  // namespace

Counter::Counter(CounterName name, const CounterTerms& terms, int64_t now_seconds)
    : name_(std::move(name)),
      bytes_(terms.limit_bytes),
      reset_(terms.reset),
      comment_(terms.comment),
      cleared_seconds_(now_seconds),
      updated_seconds_(now_seconds) {}

std::string Counter::comment() const {
  sys::MutexLock lock(mutex_);
  return comment_;
}

void Counter::Follow(const CounterTerms& terms) {
  bytes_.SetLimit(terms.limit_bytes);
  sys::MutexLock lock(mutex_);
  reset_ = terms.reset;
  comment_ = terms.comment;
}

void Counter::Release() { bytes_.SetLimit(relay::ByteCounter::kUnlimited); }

void Counter::Restore(const CounterRecord& record) {
  bytes_.Add(record.bytes);
  sys::MutexLock lock(mutex_);
  cleared_seconds_ = record.cleared_seconds;
  updated_seconds_ = record.updated_seconds;
  recorded_bytes_ = record.bytes;
}

CounterRecord Counter::Record(int64_t now_seconds) {
  CounterRecord record;
  record.number = name_.number;
  record.key = name_.key;
  record.bytes = bytes_.bytes();
  sys::MutexLock lock(mutex_);
  if (record.bytes != recorded_bytes_) updated_seconds_ = now_seconds;
  recorded_bytes_ = record.bytes;
  record.cleared_seconds = cleared_seconds_;
  record.updated_seconds = updated_seconds_;
  record.comment = comment_;
  return record;
}

bool Counter::ResetIfDue(int64_t now_seconds) {
  sys::MutexLock lock(mutex_);
  if (reset_ == Rotation::kNone || now_seconds < NextReset(reset_, cleared_seconds_)) return false;
  bytes_.Set(0);
  cleared_seconds_ = now_seconds;
  return true;
}

std::shared_ptr<Counter> CounterStore::Find(const CounterName& name, const CounterTerms& terms) {
  const int64_t now = NowSeconds();
  if (name.number == 0) {
    auto counter = std::make_shared<Counter>(name, terms, now);
    sys::MutexLock lock(mutex_);
    unnumbered_.push_back(counter);
    return counter;
  }
  sys::MutexLock lock(mutex_);
  std::shared_ptr<Counter>& counter = counters_[name];
  if (counter != nullptr) {
    counter->Follow(terms);
    return counter;
  }
  counter = std::make_shared<Counter>(name, terms, now);
  const auto said = unclaimed_.find(name);
  if (said != unclaimed_.end()) {
    counter->Restore(said->second);
    unclaimed_.erase(said);
    counter->ResetIfDue(now);
  }
  return counter;
}

void CounterStore::Load(std::vector<CounterRecord> records) {
  sys::MutexLock lock(mutex_);
  unclaimed_.clear();
  for (CounterRecord& record : records) {
    CounterName name{record.number, record.key};
    if (counters_.find(name) == counters_.end()) unclaimed_.emplace(std::move(name), std::move(record));
  }
}

std::vector<std::shared_ptr<Counter>> CounterStore::All() {
  std::vector<std::shared_ptr<Counter>> all;
  sys::MutexLock lock(mutex_);
  all.reserve(counters_.size() + unnumbered_.size());
  for (const auto& [name, counter] : counters_) all.push_back(counter);
  for (size_t i = 0; i < unnumbered_.size();) {
    std::shared_ptr<Counter> counter = unnumbered_[i].lock();
    if (counter != nullptr) {
      all.push_back(std::move(counter));
      ++i;
    } else {
      unnumbered_[i] = std::move(unnumbered_.back());
      unnumbered_.pop_back();
    }
  }
  return all;
}

std::vector<CounterRecord> CounterStore::Records(int64_t now_seconds) {
  std::vector<CounterRecord> records;
  for (const std::shared_ptr<Counter>& counter : All()) {
    if (counter->name().number > 0) records.push_back(counter->Record(now_seconds));
  }
  {
    sys::MutexLock lock(mutex_);
    for (const auto& [name, record] : unclaimed_) {
      if (counters_.find(name) == counters_.end()) records.push_back(record);
    }
  }
  std::sort(records.begin(), records.end(), [](const CounterRecord& a, const CounterRecord& b) {
    return a.number != b.number ? a.number < b.number : a.key < b.key;
  });
  return records;
}

int CounterStore::ResetDue(int64_t now_seconds) {
  int resets = 0;
  for (const std::shared_ptr<Counter>& counter : All()) {
    resets += counter->ResetIfDue(now_seconds) ? 1 : 0;
    // Of users, networks and hosts whom nothing limits any more only those that say something are kept.
    if (counter->name().key.empty() || counter.use_count() > 2 || counter->bytes().bytes() > 0) continue;
    sys::MutexLock lock(mutex_);
    const auto found = counters_.find(counter->name());
    // Two: the map's and ours; nobody can have got another one meanwhile.
    if (found != counters_.end() && found->second == counter && counter.use_count() == 2) counters_.erase(found);
  }
  return resets;
}

}  // namespace sluice::accounting
