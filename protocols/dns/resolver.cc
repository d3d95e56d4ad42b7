#include "protocols/dns/resolver.h"

#include <chrono>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "protocols/dns/host_name.h"
#include "protocols/dns/resolver_core.h"
#include "sys/thread/mutex.h"

namespace sluice::dns {
namespace {

absl::Status CheckOptions(const ResolverOptions& options) {
  if (options.name_servers.size() > kMaxNameServers) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.name_servers.size(), " name servers were given; at most ", kMaxNameServers, " are used"));
  }
  for (const NameServer& server : options.name_servers) {
    if (!server.address.is_ip() || server.address.port() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the name server ", server.address.ToString(), " is not an IP address with a port"));
    }
  }
  if (options.timeout_nanos <= 0) return absl::InvalidArgumentError("the DNS timeout must be more than 0");
  if (options.max_pending == 0) return absl::InvalidArgumentError("at least one pending look-up must be allowed");
  for (const StaticRecord& record : options.static_records) {
    if (absl::Status name = ValidateHostName(record.name); !name.ok()) return name;
    if (AddressLiteral(record.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the static record for ", record.name, " would redefine an address; it needs a host name"));
    }
    if (!record.address.is_ip()) {
      return absl::InvalidArgumentError(absl::StrCat("the address for ", record.name, " is not an IP address"));
    }
  }
  return absl::OkStatus();
}

// One result on its way from the resolver thread to a thread that waits. Shared by both, since either may be gone
// first.
template <typename T>
class Handover {
 public:
  void Set(T value) {
    sys::MutexLock lock(mutex_);
    value_ = std::move(value);
    set_.NotifyOne();
  }

  // Empty if `deadline` passed first.
  std::optional<T> Wait(sys::MonotonicNanos deadline) {
    sys::MutexLock lock(mutex_);
    while (!value_) {
      const int64_t left = deadline - sys::Clock::System().Now();
      if (left <= 0) break;
      set_.WaitFor(mutex_, std::chrono::nanoseconds(left));
    }
    return std::exchange(value_, std::nullopt);
  }

 private:
  sys::Mutex mutex_;
  sys::CondVar set_;
  std::optional<T> value_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

Resolver::Resolver(std::shared_ptr<Core> core) : core_(std::move(core)) {}

Resolver::~Resolver() { core_->Stop(); }

absl::StatusOr<std::unique_ptr<Resolver>> Resolver::Create(ResolverOptions options) {
  if (absl::Status valid = CheckOptions(options); !valid.ok()) return valid;
  auto core = std::make_shared<Core>(std::move(options));
  if (absl::Status started = core->Start(); !started.ok()) return started;
  return std::unique_ptr<Resolver>(new Resolver(std::move(core)));
}

void Resolver::Resolve(Query query, Callback callback) {
  std::variant<Question, Result> prepared = PrepareQuery(query.name, query.family);
  Core::Request request;
  request.deadline = query.deadline;
  request.callback = std::move(callback);
  if (Result* result = std::get_if<Result>(&prepared)) request.result = std::move(*result);
  if (Question* question = std::get_if<Question>(&prepared)) request.what = std::move(*question);
  core_->Post(std::move(request));
}

std::optional<Result> Resolver::TryCache(const Query& query) {
  std::variant<Question, Result> prepared = PrepareQuery(query.name, query.family);
  if (Result* result = std::get_if<Result>(&prepared)) return std::move(*result);
  return core_->Find(std::get<Question>(prepared));
}

Result Resolver::ResolveBlocking(Query query, sys::MonotonicNanos deadline) {
  if (std::optional<Result> known = TryCache(query)) return *std::move(known);
  const std::string name = query.name;
  query.deadline = deadline;
  const auto handover = std::make_shared<Handover<Result>>();
  Resolve(std::move(query), [handover](Result result) { handover->Set(std::move(result)); });
  std::optional<Result> result = handover->Wait(deadline);
  return result ? *std::move(result) : FailedResult(Outcome::kTimeout, name);
}

void Resolver::ResolveNames(const sys::SocketAddress& address, sys::MonotonicNanos deadline, NamesCallback callback) {
  Core::Request request;
  request.what = address;
  request.deadline = deadline;
  request.callback = std::move(callback);
  core_->Post(std::move(request));
}

NamesResult Resolver::ResolveNamesBlocking(const sys::SocketAddress& address, sys::MonotonicNanos deadline) {
  const auto handover = std::make_shared<Handover<NamesResult>>();
  ResolveNames(address, deadline, [handover](NamesResult result) { handover->Set(std::move(result)); });
  std::optional<NamesResult> result = handover->Wait(deadline);
  if (result) return *std::move(result);
  return {Outcome::kTimeout, OutcomeStatus(Outcome::kTimeout, address.IpText()), {}, 0};
}

void Resolver::Forward(std::string message, ForwardCallback callback) {
  Core::Request request;
  request.what = std::move(message);
  request.callback = std::move(callback);
  core_->Post(std::move(request));
}

ResolverStats Resolver::stats() const { return core_->stats(); }

}  // namespace sluice::dns
