#include "protocols/dns/resolver_core.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "absl/types/span.h"
#include "protocols/dns/wire.h"
#include "sys/base/errno_status.h"
#include "sys/thread/affinity.h"

namespace sluice::dns {
namespace {

constexpr uint64_t kWakeToken = 0;  // channel ids begin at 1
constexpr int64_t kFileCheckNanos = sys::kNanosPerSecond;

sys::MonotonicNanos Now() { return sys::Clock::System().Now(); }

KnownNames::Options KnownOptions(const ResolverOptions& options) {
  return {options.static_records, options.fake_resolve, options.cache_ipv4_entries, options.cache_ipv6_entries,
          options.cache_clock};
}

// What the name servers may be asked on behalf of a client: c-ares compares one question with that of the answer.
bool IsQuery(const std::string& message) {
  WireReader reader(absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(message.data()), message.size()));
  reader.U16();
  const uint16_t flags = reader.U16();
  const uint16_t questions = reader.U16();
  reader.Bytes(kHeaderBytes - 6);
  reader.Name();
  reader.U32();  // type and class
  return reader.ok() && (flags & (kResponseFlag | kOpcodeMask)) == 0 && questions == 1 && message.size() <= 0xffff;
}

// The thread takes no signals: they are the main thread's.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

Resolver::Core::Core(ResolverOptions options)
    : options_(std::move(options)),
      known_(KnownOptions(options_)),
      hosts_file_(options_.hosts_path, kMaxHostsFileBytes),
      resolv_conf_file_(options_.resolv_conf_path, kMaxResolvConfBytes) {}

void Resolver::Core::Stop() {
  if (!thread_.joinable()) return;
  stop_.store(true, std::memory_order_release);
  Wake();
  if (role_.IsHeld()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

absl::Status Resolver::Core::Start() {
  role_.AssertHeld();  // there is no other thread yet
  epoll_ = sys::UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return sys::ErrnoStatus(errno, "epoll_create1 for the resolver");
  wake_ = sys::UniqueFd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake_.valid()) return sys::ErrnoStatus(errno, "eventfd for the resolver");
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWakeToken;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0) {
    return sys::ErrnoStatus(errno, "epoll_ctl for the resolver");
  }
  // A look-up has two flights; as many again may be in the air for callers whose patience was over.
  flights_.emplace(
      epoll_.get(), 4 * options_.max_pending,
      [this](const FlightKey& key, const Answer& answer, absl::Span<const uint64_t> waiters) {
        role_.AssertHeld();
        known_.Store(key.first, key.second, answer);
        lookups_->OnLanded(key, answer, waiters, Now());
      },
      [this](uint64_t waiter, Outcome outcome, std::vector<uint8_t> answer) {
        role_.AssertHeld();
        EndForward(waiter, outcome, std::string(answer.begin(), answer.end()));
      });
  lookups_.emplace(known_, *flights_, options_.max_pending);
  if (!options_.name_servers.empty()) {
    const ServerPlan plan = PlanOfServers(options_.name_servers, options_.timeout_nanos);
    if (absl::Status set = flights_->SetPlan(plan, Now()); !set.ok()) return set;
  }
  if (absl::Status read = ReadFiles(Now()); !read.ok()) return read;
  try {
    const AllSignalsBlocked blocked;
    thread_ = std::thread([self = shared_from_this()] {
      self->role_.Adopt();
      self->role_.AssertHeld();
      self->Loop();
    });
  } catch (const std::system_error& error) {  // std::thread has no other way to say it
    return sys::ErrnoStatus(error.code().value(), "cannot start the resolver's thread");
  }
  return absl::OkStatus();
}

void Resolver::Core::Post(Request request) {
  if (mailbox_.Put(std::move(request))) Wake();
}

std::optional<Result> Resolver::Core::Find(const Question& question) {
  std::optional<Result> result = known_.Find(question);
  if (!result) return result;
  answered_locally_.fetch_add(1, std::memory_order_relaxed);
  const bool due = Now() - files_read_at_.load(std::memory_order_relaxed) >= kFileCheckNanos;
  if (due && !files_wanted_.exchange(true, std::memory_order_relaxed)) Wake();
  return result;
}

void Resolver::Core::Wake() {
  const uint64_t one = 1;
  // Full means that a wake-up is on its way.
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

void Resolver::Core::Loop() {
  sys::NameThisThread("resolver");
  while (!stop_.load(std::memory_order_acquire)) {
    const sys::MonotonicNanos now = Now();
    TakeRequests(now);
    flights_->Run(now);
    lookups_->Run(now);
    PublishCounters();
    Wait(now);
  }
  // Requests that nobody has looked at yet are cancelled like the rest.
  TakeRequests(Now());
  lookups_->CancelAll();
  while (!forwardings_.empty()) EndForward(forwardings_.begin()->first, Outcome::kCancelled, "");
}

void Resolver::Core::Wait(sys::MonotonicNanos now) {
  int timeout_millis = -1;
  for (const std::optional<sys::MonotonicNanos>& next : {flights_->NextRun(), lookups_->NextRun()}) {
    if (!next) continue;
    // Rounded up: waking a little early would only mean another turn.
    const int64_t millis = std::clamp<int64_t>((*next - now) / sys::kNanosPerMilli + 1, 0, 60'000);
    const int wait = *next <= now ? 0 : static_cast<int>(millis);
    timeout_millis = timeout_millis < 0 ? wait : std::min(timeout_millis, wait);
  }
  constexpr int kEvents = 16;  // two sockets for each of five name servers, and the wake-up
  epoll_event events[kEvents];
  const int count = ::epoll_wait(epoll_.get(), events, kEvents, timeout_millis);
  for (int i = 0; i < count; ++i) {
    if (events[i].data.u64 != kWakeToken) {
      flights_->Process(events[i].data.u64, events[i].events);
      continue;
    }
    uint64_t ignored;
    [[maybe_unused]] const ssize_t read = ::read(wake_.get(), &ignored, sizeof ignored);
  }
}

void Resolver::Core::TakeRequests(sys::MonotonicNanos now) {
  mailbox_.TakeAll(incoming_);
  const bool wanted = files_wanted_.exchange(false, std::memory_order_relaxed);
  const bool busy = wanted || !incoming_.empty() || lookups_->size() != 0;
  if (busy && now - files_read_at_.load(std::memory_order_relaxed) >= kFileCheckNanos) {
    // What cannot be set up now leaves the name servers as they were; the next change of the file tries again.
    ReadFiles(now).IgnoreError();
  }
  for (Request& request : incoming_) Begin(std::move(request), now);
  incoming_.clear();
}

void Resolver::Core::Begin(Request request, sys::MonotonicNanos now) {
  const auto counted = [this](auto callback) {
    return [this, callback = std::move(callback)](auto result) mutable {
      results_[static_cast<size_t>(result.outcome)].fetch_add(1, std::memory_order_relaxed);
      callback(std::move(result));
    };
  };
  if (NamesCallback* names = std::get_if<NamesCallback>(&request.callback)) {
    const auto& address = std::get<sys::SocketAddress>(request.what);
    if (!address.is_ip()) {
      return counted(std::move(*names))(
          NamesResult{Outcome::kInvalidName, OutcomeStatus(Outcome::kInvalidName, address.ToString()), {}, 0});
    }
    return lookups_->StartReverse(address, request.deadline, counted(std::move(*names)), now);
  }
  if (ForwardCallback* forward = std::get_if<ForwardCallback>(&request.callback)) {
    return BeginForward(std::get<std::string>(request.what), std::move(*forward), now);
  }
  auto callback = counted(std::move(std::get<Callback>(request.callback)));
  const Question& question = std::get<Question>(request.what);
  if (!request.result) request.result = known_.Find(question);
  if (request.result) {
    answered_locally_.fetch_add(1, std::memory_order_relaxed);
    return callback(*std::move(request.result));
  }
  lookups_->Start(question, request.deadline, std::move(callback), now);
}

void Resolver::Core::BeginForward(const std::string& message, ForwardCallback callback, sys::MonotonicNanos now) {
  if (!IsQuery(message)) return callback(Outcome::kInvalidName, "");
  const uint64_t id = next_forwarding_id_++;
  if (forwardings_.size() >= options_.max_pending ||
      !flights_->Forward(std::vector<uint8_t>(message.begin(), message.end()), id, now)) {
    refused_.fetch_add(1, std::memory_order_relaxed);
    return callback(Outcome::kServerFailure, "");
  }
  forwardings_.emplace(id, Forwarding{std::move(callback), message.substr(0, 2)});
}

void Resolver::Core::EndForward(uint64_t id, Outcome outcome, std::string answer) {
  const auto found = forwardings_.find(id);
  Forwarding forwarding = std::move(found->second);
  forwardings_.erase(found);
  if (outcome == Outcome::kOk) answer.replace(0, 2, forwarding.id);
  forwarding.callback(outcome, std::move(answer));
}

absl::Status Resolver::Core::ReadFiles(sys::MonotonicNanos now) {
  files_read_at_.store(now, std::memory_order_relaxed);
  if (const std::optional<std::string> hosts = hosts_file_.ReadIfChanged()) known_.SetHosts(ParseHosts(*hosts));
  return options_.name_servers.empty() ? ReadResolvConf(now) : absl::OkStatus();
}

absl::Status Resolver::Core::ReadResolvConf(sys::MonotonicNanos now) {
  const std::optional<std::string> text = resolv_conf_file_.ReadIfChanged();
  if (!text) return absl::OkStatus();
  const ResolvConf conf = ParseResolvConf(*text);
  // A file that is being rewritten is empty for a moment: that does not send everybody to 127.0.0.1.
  if (conf.name_servers.empty() && !flights_->plan().servers.empty()) return absl::OkStatus();
  known_.SetSearch(conf.search);
  ServerPlan plan = PlanOfResolvConf(conf);
  for (NameServer& server : plan.servers) server.address.set_port(options_.resolv_conf_port);
  return plan == flights_->plan() ? absl::OkStatus() : flights_->SetPlan(plan, now);
}

void Resolver::Core::PublishCounters() {
  queries_sent_.store(flights_->queries_sent(), std::memory_order_relaxed);
  const int64_t refused = lookups_->refused();
  refused_.fetch_add(refused - refused_lookups_, std::memory_order_relaxed);
  refused_lookups_ = refused;
}

ResolverStats Resolver::Core::stats() const {
  ResolverStats stats;
  stats.queries_sent = queries_sent_.load(std::memory_order_relaxed);
  stats.refused = refused_.load(std::memory_order_relaxed);
  stats.answered_locally = answered_locally_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < results_.size(); ++i) stats.results[i] = results_[i].load(std::memory_order_relaxed);
  return stats;
}

}  // namespace sluice::dns
