#include "protocols/dns/lookups.h"

#include <algorithm>

namespace sluice::dns {
namespace {

// Over the plan's own time, so that a look-up normally ends with what its flights say.
constexpr int64_t kSlackNanos = 100 * sys::kNanosPerMilli;

bool HasAddresses(const std::optional<Answer>& answer) { return answer.has_value() && answer->outcome == Outcome::kOk; }

void Call(std::variant<Callback, NamesCallback>& callback, Result result, std::vector<std::string> names) {
  if (Callback* addresses = std::get_if<Callback>(&callback)) return (*addresses)(std::move(result));
  std::get<NamesCallback>(callback)(
      NamesResult{result.outcome, std::move(result.status), std::move(names), result.ttl_seconds});
}

}  // namespace

void Lookups::Start(const Question& question, sys::MonotonicNanos deadline, Callback callback,
                    sys::MonotonicNanos now) {
  auto lookup = std::make_unique<Lookup>();
  lookup->question = question;
  lookup->callback = std::move(callback);
  lookup->candidates = SearchCandidates(question.name, question.absolute, known_.search());
  for (const RecordType type : TypesOf(question.family)) lookup->parts.push_back({type, std::nullopt});
  Add(std::move(lookup), deadline, now);
}

void Lookups::StartReverse(const sys::SocketAddress& address, sys::MonotonicNanos deadline, NamesCallback callback,
                           sys::MonotonicNanos now) {
  auto lookup = std::make_unique<Lookup>();
  lookup->question.name = ReverseName(address);
  lookup->callback = std::move(callback);
  lookup->candidates = {lookup->question.name};
  lookup->parts.push_back({RecordType::kPtr, std::nullopt});
  Add(std::move(lookup), deadline, now);
}

void Lookups::Add(std::unique_ptr<Lookup> lookup, sys::MonotonicNanos deadline, sys::MonotonicNanos now) {
  if (lookups_.size() >= max_pending_) {
    ++refused_;
    Call(lookup->callback,
         FailedResult(Outcome::kServerFailure, lookup->question.name, "too many pending look-ups; try again later"),
         {});
    return;
  }
  const sys::MonotonicNanos last = now + flights_.plan().total_nanos() + kSlackNanos;
  lookup->deadline = deadline == 0 ? last : std::min(deadline, last);
  const uint64_t id = next_id_++;
  Lookup& added = *lookups_.emplace(id, std::move(lookup)).first->second;
  SetWake(id, added, added.deadline);
  Advance(id, added, now);
}

void Lookups::Advance(uint64_t id, Lookup& lookup, sys::MonotonicNanos now) {
  while (lookup.next < lookup.candidates.size()) {
    for (Part& part : lookup.parts) part.answer.reset();
    ++lookup.next;
    if (!AskCandidate(id, lookup, now)) return;
    if (std::optional<Result> result = Conclude(lookup)) return Finish(id, lookup, *std::move(result));
  }
  Outcome outcome = lookup.exists ? Outcome::kNoData : Outcome::kNotFound;
  if (lookup.failure != Outcome::kOk) outcome = lookup.failure;
  Finish(id, lookup, FailedResult(outcome, lookup.question.name));
}

bool Lookups::AskCandidate(uint64_t id, Lookup& lookup, sys::MonotonicNanos now) {
  const std::string& candidate = lookup.candidates[lookup.next - 1];
  std::optional<sys::MonotonicNanos> waiting_since;
  for (Part& part : lookup.parts) {
    if ((part.answer = known_.FindCached(candidate, part.type))) continue;
    lookup.asked = true;
    if (const auto started = flights_.Join({candidate, part.type}, id, now)) {
      waiting_since = started;
    } else {
      ++refused_;
      part.answer.emplace().outcome = Outcome::kServerFailure;
    }
  }
  if (!waiting_since) return true;
  const bool has_addresses =
      std::any_of(lookup.parts.begin(), lookup.parts.end(), [](const Part& part) { return HasAddresses(part.answer); });
  if (!has_addresses) return false;
  // The other family has had its time if others have waited for it already: one whose answers never come must not cost
  // every client 50 ms.
  const sys::MonotonicNanos until = *waiting_since + kResolutionDelayNanos;
  if (until <= now) return true;
  SetWake(id, lookup, std::min(until, lookup.deadline));
  return false;
}

void Lookups::OnLanded(const FlightKey& key, const Answer& answer, absl::Span<const uint64_t> waiters,
                       sys::MonotonicNanos now) {
  for (const uint64_t id : waiters) {
    const auto found = lookups_.find(id);
    if (found == lookups_.end()) continue;
    Lookup& lookup = *found->second;
    if (lookup.candidates[lookup.next - 1] != key.first) continue;
    bool all = true;
    for (Part& part : lookup.parts) {
      if (part.type == key.second) part.answer = answer;
      all = all && part.answer.has_value();
    }
    if (!all) {
      if (answer.outcome == Outcome::kOk) SetWake(id, lookup, std::min(now + kResolutionDelayNanos, lookup.deadline));
      continue;
    }
    if (std::optional<Result> result = Conclude(lookup)) {
      Finish(id, lookup, *std::move(result));
    } else {
      SetWake(id, lookup, lookup.deadline);
      Advance(id, lookup, now);
    }
  }
}

std::optional<Result> Lookups::Conclude(Lookup& lookup) const {
  const Answer* ipv4 = nullptr;
  const Answer* ipv6 = nullptr;
  for (const Part& part : lookup.parts) {
    if (!part.answer.has_value()) continue;
    if (part.type == RecordType::kPtr && part.answer->outcome == Outcome::kOk) {
      Result result;
      result.ttl_seconds = part.answer->ttl_seconds;
      return result;
    }
    (part.type == RecordType::kAaaa ? ipv6 : ipv4) = &*part.answer;
  }
  Result result = CombineAnswers(lookup.question.name, lookup.question.family, ipv4, ipv6);
  result.from_cache = !lookup.asked;
  if (result.ok() || result.outcome == Outcome::kTimeout) return result;
  if (lookup.next == lookup.candidates.size() && lookup.failure == Outcome::kOk && !lookup.exists) return result;
  if (result.outcome == Outcome::kNoData) {
    lookup.exists = true;
  } else if (result.outcome != Outcome::kNotFound && lookup.failure == Outcome::kOk) {
    lookup.failure = result.outcome;
  }
  return std::nullopt;
}

void Lookups::Run(sys::MonotonicNanos now) {
  while (!wakes_.empty() && wakes_.begin()->first <= now) {
    const uint64_t id = wakes_.begin()->second;
    Lookup& lookup = *lookups_.at(id);
    const bool has_addresses = std::any_of(lookup.parts.begin(), lookup.parts.end(),
                                           [](const Part& part) { return HasAddresses(part.answer); });
    std::optional<Result> result;
    if (has_addresses) result = Conclude(lookup);
    Finish(id, lookup, result ? *std::move(result) : FailedResult(Outcome::kTimeout, lookup.question.name));
  }
}

void Lookups::Finish(uint64_t id, Lookup& lookup, Result result) {
  std::vector<std::string> names;
  if (lookup.parts[0].answer) names = std::move(lookup.parts[0].answer->names);
  SetWake(id, lookup, 0);
  const auto found = lookups_.find(id);
  const std::unique_ptr<Lookup> owned = std::move(found->second);
  lookups_.erase(found);
  Call(owned->callback, std::move(result), std::move(names));
}

void Lookups::SetWake(uint64_t id, Lookup& lookup, sys::MonotonicNanos when) {
  if (lookup.wake_at != 0) wakes_.erase({lookup.wake_at, id});
  lookup.wake_at = when;
  if (when != 0) wakes_.emplace(when, id);
}

std::optional<sys::MonotonicNanos> Lookups::NextRun() const {
  if (wakes_.empty()) return std::nullopt;
  return wakes_.begin()->first;
}

void Lookups::CancelAll() {
  while (!lookups_.empty()) {
    const auto first = lookups_.begin();
    Finish(first->first, *first->second, FailedResult(Outcome::kCancelled, first->second->question.name));
  }
}

}  // namespace sluice::dns
