#include "protocols/dns/flights.h"

#include <algorithm>

#include "protocols/dns/wire.h"

namespace sluice::dns {
namespace {

// How much a failure tells: something that a server said is worth more than silence.
int Weight(Outcome outcome) {
  switch (outcome) {
    case Outcome::kServerFailure:
      return 3;
    case Outcome::kRefused:
      return 2;
    case Outcome::kMalformed:
      return 1;
    default:
      return 0;
  }
}

bool IsFinal(Outcome outcome) {
  return outcome == Outcome::kOk || outcome == Outcome::kNotFound || outcome == Outcome::kNoData;
}

}  // namespace

Flights::Flights(int epoll_fd, size_t max_flights, Landed landed, Forwarded forwarded)
    : epoll_fd_(epoll_fd), max_flights_(max_flights), landed_(std::move(landed)), forwarded_(std::move(forwarded)) {}

Flights::~Flights() = default;

absl::Status Flights::SetPlan(const ServerPlan& plan, sys::MonotonicNanos now) {
  std::vector<std::unique_ptr<Channel>> channels;
  for (const NameServer& server : plan.servers) {
    absl::StatusOr<std::unique_ptr<Channel>> channel =
        Channel::Create(server, plan, next_channel_id_++, epoll_fd_, replies_);
    if (!channel.ok()) return channel.status();
    channels.push_back(*std::move(channel));
  }
  Run(now);
  plan_ = plan;
  channels_.swap(channels);
  for (const std::unique_ptr<Channel>& old : channels) queries_of_old_channels_ += old->queries_sent();
  channels.clear();
  replies_.clear();  // what the old channels had not answered was "cancelled"
  AskAgainEverywhere(now);
  return absl::OkStatus();
}

void Flights::AskAgainEverywhere(sys::MonotonicNanos now) {
  for (auto& [id, flight] : flights_) {
    flight->first_server = flight->asked = flight->failed = 0;
    AskNextServer(id, *flight, now);
  }
}

std::optional<sys::MonotonicNanos> Flights::Join(const FlightKey& key, uint64_t waiter, sys::MonotonicNanos now) {
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    Flight& flight = *flights_.at(found->second);
    flight.waiters.push_back(waiter);
    return flight.started;
  }
  if (Launch(key, {}, waiter, now) == nullptr) return std::nullopt;
  return now;
}

bool Flights::Forward(std::vector<uint8_t> query, uint64_t waiter, sys::MonotonicNanos now) {
  return Launch(FlightKey(), std::move(query), waiter, now) != nullptr;
}

Flights::Flight* Flights::Launch(const FlightKey& key, std::vector<uint8_t> query, uint64_t waiter,
                                 sys::MonotonicNanos now) {
  if (flights_.size() >= max_flights_ || channels_.empty()) return nullptr;
  const uint64_t id = next_flight_id_++;
  Flight& flight = *flights_.emplace(id, std::make_unique<Flight>()).first->second;
  if (query.empty()) by_key_.emplace(key, id);
  flight.key = key;
  flight.query = std::move(query);
  flight.waiters.push_back(waiter);
  flight.started = now;
  if (plan_.rotate) flight.first_server = next_rotation_++ % static_cast<int>(channels_.size());
  AskNextServer(id, flight, now);
  return &flight;
}

void Flights::AskNextServer(uint64_t id, Flight& flight, sys::MonotonicNanos now) {
  const int count = static_cast<int>(channels_.size());
  const int server = (flight.first_server + flight.asked++) % count;
  SetNextServerTime(id, flight, flight.asked < count ? now + plan_.first_try_nanos : 0);
  if (channels_[server]->pending() == 0) last_tick_ = now;
  if (flight.query.empty()) {
    channels_[server]->Ask(flight.key.first, flight.key.second, id);
  } else {
    channels_[server]->AskRaw(flight.query, id);
  }
}

void Flights::SetNextServerTime(uint64_t id, Flight& flight, sys::MonotonicNanos when) {
  if (flight.next_server_at != 0) next_servers_.erase({flight.next_server_at, id});
  flight.next_server_at = when;
  if (when != 0) next_servers_.emplace(when, id);
}

void Flights::Process(uint64_t token, uint32_t events) {
  for (const std::unique_ptr<Channel>& channel : channels_) {
    if (channel->id() == Channel::IdOfToken(token)) return channel->Process(token, events);
  }
}

void Flights::Run(sys::MonotonicNanos now) {
  if (now - last_tick_ >= Channel::kTickNanos) {
    last_tick_ = now;
    for (const std::unique_ptr<Channel>& channel : channels_) {
      if (channel->pending() != 0) channel->Tick();
    }
  }
  while (!next_servers_.empty() && next_servers_.begin()->first <= now) {
    const uint64_t id = next_servers_.begin()->second;
    AskNextServer(id, *flights_.at(id), now);
  }
  // Handling a reply may ask the next server, which may fail at once and add a reply.
  while (!replies_.empty()) {
    std::vector<Channel::Reply> batch;
    batch.swap(replies_);
    for (Channel::Reply& reply : batch) Handle(reply, now);
  }
}

void Flights::Handle(Channel::Reply& reply, sys::MonotonicNanos now) {
  const auto found = flights_.find(reply.cookie);
  if (found == flights_.end()) return;  // another server was faster
  Flight& flight = *found->second;
  if (!flight.query.empty()) return HandleForwarded(reply, flight, now);
  Answer answer;
  answer.outcome = reply.transport;
  if (reply.transport == Outcome::kOk) answer = ParseAnswer(reply.message, flight.key.first, flight.key.second);
  if (IsFinal(answer.outcome)) {
    Land(reply.cookie, answer);
  } else {
    HandleFailure(reply.cookie, flight, answer.outcome, now);
  }
}

void Flights::HandleForwarded(Channel::Reply& reply, Flight& flight, sys::MonotonicNanos now) {
  if (reply.transport != Outcome::kOk || reply.message.size() < kHeaderBytes) {
    return HandleFailure(reply.cookie, flight, reply.transport == Outcome::kOk ? Outcome::kMalformed : reply.transport,
                         now);
  }
  const Outcome outcome = OutcomeOfRcode(reply.message[3] & kRcodeMask);
  if (outcome == Outcome::kServerFailure || outcome == Outcome::kRefused) {
    flight.worst_answer = std::move(reply.message);
    return HandleFailure(reply.cookie, flight, outcome, now);
  }
  const std::unique_ptr<Flight> landed = Remove(reply.cookie);
  forwarded_(landed->waiters[0], Outcome::kOk, std::move(reply.message));
}

void Flights::HandleFailure(uint64_t id, Flight& flight, Outcome outcome, sys::MonotonicNanos now) {
  if (flight.failed == 0 || Weight(outcome) > Weight(flight.worst)) flight.worst = outcome;
  ++flight.failed;
  if (flight.asked < static_cast<int>(channels_.size())) return AskNextServer(id, flight, now);
  if (flight.failed < flight.asked) return;
  Answer answer;
  answer.outcome = flight.worst;
  Land(id, answer);
}

std::unique_ptr<Flights::Flight> Flights::Remove(uint64_t id) {
  const auto found = flights_.find(id);
  std::unique_ptr<Flight> flight = std::move(found->second);
  SetNextServerTime(id, *flight, 0);
  flights_.erase(found);
  if (flight->query.empty()) by_key_.erase(flight->key);
  return flight;
}

void Flights::Land(uint64_t id, const Answer& answer) {
  const std::unique_ptr<Flight> flight = Remove(id);
  if (flight->query.empty()) return landed_(flight->key, answer, flight->waiters);
  const Outcome outcome = flight->worst_answer.empty() ? answer.outcome : Outcome::kOk;
  forwarded_(flight->waiters[0], outcome, std::move(flight->worst_answer));
}

std::optional<sys::MonotonicNanos> Flights::NextRun() const {
  std::optional<sys::MonotonicNanos> next;
  if (!replies_.empty()) return 0;
  const bool pending =
      std::any_of(channels_.begin(), channels_.end(), [](const auto& channel) { return channel->pending() != 0; });
  if (pending) next = last_tick_ + Channel::kTickNanos;
  if (!next_servers_.empty())
    next = std::min(next.value_or(next_servers_.begin()->first), next_servers_.begin()->first);
  return next;
}

int64_t Flights::queries_sent() const {
  int64_t sum = queries_of_old_channels_;
  for (const std::unique_ptr<Channel>& channel : channels_) sum += channel->queries_sent();
  return sum;
}

}  // namespace sluice::dns
