#include "protocols/service/server.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "protocols/accounting/log_format.h"
#include "protocols/accounting/log_target.h"
#include "protocols/auth/auth_cache.h"
#include "protocols/auth/auth_options.h"
#include "protocols/dns/server_plan.h"
#include "protocols/service/proxied_clients.h"
#include "protocols/service/self_loops.h"
#include "protocols/service/tls_clients.h"
#include "sys/thread/clock.h"
#include "sys/thread/mutex.h"

namespace sluice::service {
namespace {

// How long a reload waits for the workers' word. They go on without it.
constexpr int64_t kReviewNanos = 5 * sys::kNanosPerSecond;

absl::Status At(const ServiceOptions& options, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(options.location.file, ":", options.location.line,
                                                  ": error: ", options.log_name, ": ", status.message()));
}

std::string LogName(const LogOptions& log) {
  switch (log.target) {
    case LogOptions::Target::kNone:
    case LogOptions::Target::kStdout:
      return "";
    case LogOptions::Target::kSyslog:
      return absl::StrCat("@", log.name);
    case LogOptions::Target::kDevNull:
      return "/dev/null";
    case LogOptions::Target::kFile:
      return log.name;
  }
  return "";
}

bool WantsAddresses(const LogOptions& log) {
  if (log.target == LogOptions::Target::kNone) return false;
  return log.format == "json" || absl::StrContains(log.format, "%i") || absl::StrContains(log.format, "%e");
}

std::shared_ptr<const std::vector<sys::SocketAddress>> OwnProxies(const Snapshot& snapshot,
                                                                  const std::vector<sys::SocketAddress>& bound) {
  auto proxies = std::make_shared<std::vector<sys::SocketAddress>>();
  for (size_t i = 0; i < bound.size(); ++i) {
    const ServiceOptions& service = *snapshot.services[i];
    const bool maps_ports = service.type == ServiceType::kTcpPortMap || service.type == ServiceType::kUdpPortMap;
    if (!maps_ports || service.transparent) proxies->push_back(bound[i]);
  }
  return proxies;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Create(ServerOptions options) {
  std::unique_ptr<Server> server(new Server(std::move(options)));
  const ServerOptions& o = server->options_;
  std::vector<std::string> notes;
  // The handshake pool first: its threads keep the process's CPU mask.
  absl::StatusOr<std::unique_ptr<HandshakePool>> handshakes = HandshakePool::Create(o.handshake_threads);
  if (!handshakes.ok()) return handshakes.status();
  server->handshakes_ = *std::move(handshakes);
  absl::StatusOr<std::unique_ptr<relay::WorkerPool>> workers =
      relay::WorkerPool::Create(o.workers, o.loop, o.cpus, &sys::Clock::System(), &notes);
  if (!workers.ok()) return workers.status();
  server->workers_ = *std::move(workers);
  for (const std::string& note : notes) o.say(note);
  accounting::LogThread::Options log;
  log.complain = [say = o.say](absl::string_view line) { say(std::string(line)); };
  server->log_ = std::make_unique<accounting::LogThread>(std::move(log));
  if (absl::Status status = server->log_->status(); !status.ok()) return status;
  server->listeners_ = std::make_unique<ListenerSet>(server->workers_.get());
  return server;
}

Server::~Server() { Stop(); }

absl::StatusOr<std::shared_ptr<dns::Resolver>> Server::MakeResolver(const Snapshot& snapshot,
                                                                    bool for_client_names) const {
  dns::ResolverOptions options;
  const bool own_servers = for_client_names && !snapshot.dns.auth_servers.empty();
  for (const DnsOptions::Server& server : own_servers ? snapshot.dns.auth_servers : snapshot.dns.servers) {
    options.name_servers.push_back({.address = server.address, .tcp = server.tcp});
  }
  options.timeout_nanos = snapshot.dns.timeout_nanos;
  if (snapshot.dns.cache_ipv4_entries > 0) options.cache_ipv4_entries = snapshot.dns.cache_ipv4_entries;
  if (snapshot.dns.cache_ipv6_entries > 0) options.cache_ipv6_entries = snapshot.dns.cache_ipv6_entries;
  for (const DnsOptions::Record& record : snapshot.dns.records) {
    options.static_records.push_back(
        {record.name, record.address.value_or(sys::SocketAddress::Any(sys::AddressFamily::kIpv4, 0))});
  }
  options.fake_resolve = snapshot.dns.fake_resolve && !for_client_names;
  absl::StatusOr<std::unique_ptr<dns::Resolver>> resolver = dns::Resolver::Create(std::move(options));
  if (!resolver.ok()) return resolver.status();
  return std::shared_ptr<dns::Resolver>(*std::move(resolver));
}

std::vector<std::shared_ptr<const auth::Gate>> Server::MakeGates(const Snapshot& snapshot,
                                                                 const std::shared_ptr<dns::Resolver>& resolver) {
  std::vector<std::shared_ptr<const auth::Gate>> gates;
  bool reads_own_addresses = false;
  for (const auto& service : snapshot.services) {
    auth::GateOptions options;
    options.rules = service->rules;
    options.auth = service->auth;
    options.users = snapshot.users;
    options.resolver = resolver;
    options.dns_nanos = service->timeouts.dns * static_cast<int64_t>(dns::kMaxNameServers);
    options.own_addresses = own_addresses_;
    options.listener = service->listen;
    options.force = service->force_reauthorise;
    reads_own_addresses |= service->rules != nullptr && service->rules->reads().target_local;
    if (service->auth.caches()) {
      // One for all services that ask the same way, so that whoever is known to one is known to the others.
      for (size_t i = 0; i < gates.size() && options.cache == nullptr; ++i) {
        const auth::AuthOptions& other = snapshot.services[i]->auth;
        if (other.chain == service->auth.chain && other.cache == service->auth.cache) {
          options.cache = gates[i]->options().cache;
        }
      }
      if (options.cache == nullptr) options.cache = std::make_shared<auth::AuthCache>(service->auth.cache);
    }
    gates.push_back(std::make_shared<const auth::Gate>(std::move(options)));
  }
  watches_own_addresses_ = reads_own_addresses;
  if (watches_own_addresses_) own_addresses_->Refresh();
  return gates;
}

absl::StatusOr<std::vector<std::shared_ptr<accounting::LogChannel>>> Server::OpenLogs(const Snapshot& snapshot) {
  std::vector<std::shared_ptr<accounting::LogChannel>> channels;
  for (const auto& service : snapshot.services) {
    channels.emplace_back();
    const LogOptions& log = service->log;
    if (log.target == LogOptions::Target::kNone) continue;
    absl::StatusOr<accounting::LogTarget> target = accounting::LogTarget::Parse(
        LogName(log), log.rotation == 0 ? "" : std::string(1, log.rotation), log.keep_rotated);
    if (!target.ok()) return At(*service, target.status());
    absl::StatusOr<accounting::LogFormat> format =
        log.format.empty() ? accounting::LogFormat() : accounting::LogFormat::Compile(log.format);
    if (!format.ok()) return At(*service, format.status());
    absl::StatusOr<std::unique_ptr<accounting::LogChannel>> channel = log_->Open(*target, *format);
    if (!channel.ok()) return At(*service, channel.status());
    channels.back() = *std::move(channel);
  }
  return channels;
}

absl::Status Server::Apply(std::unique_ptr<Snapshot> next, std::vector<std::string>* listening) {
  next->generation = snapshot_ == nullptr ? 1 : snapshot_->generation + 1;
  const std::shared_ptr<const Snapshot> snapshot = std::move(next);
  absl::StatusOr<std::shared_ptr<dns::Resolver>> resolver = MakeResolver(*snapshot, /*for_client_names=*/false);
  if (!resolver.ok()) return resolver.status();
  std::shared_ptr<dns::Resolver> client_names = *resolver;
  if (!snapshot->dns.auth_servers.empty() || snapshot->dns.fake_resolve) {
    absl::StatusOr<std::shared_ptr<dns::Resolver>> other = MakeResolver(*snapshot, /*for_client_names=*/true);
    if (!other.ok()) return other.status();
    client_names = *std::move(other);
  }
  auto logs = OpenLogs(*snapshot);
  if (!logs.ok()) return logs.status();
  if (absl::Status status = metering_.Prepare(*snapshot); !status.ok()) return status;
  absl::StatusOr<ListenerPlan> plan = listeners_->Plan(*snapshot);
  if (!plan.ok()) return plan.status();

  // From here on nothing fails.
  for (const std::string& note : plan->notes) options_.say(note);
  resolver_ = *std::move(resolver);
  const std::shared_ptr<const access::LimitSet> limits = metering_.Commit(*snapshot);
  std::vector<sys::SocketAddress> bound;
  for (const ListenerPlan::Entry& entry : plan->entries) bound.push_back(entry.listener->bound);
  const std::vector<bool> loops = FindSelfLoops(*snapshot, bound);
  const auto own_proxies = OwnProxies(*snapshot, bound);
  const auto gates = MakeGates(*snapshot, client_names);
  std::vector<ServiceHandler> handlers;
  for (size_t i = 0; i < plan->entries.size(); ++i) {
    const ServiceOptions& options = *snapshot->services[i];
    Listener& listener = *plan->entries[i].listener;
    if (listener.budget == nullptr) {
      listener.budget = std::make_shared<relay::ConnectionBudget>(
          options.maxconn, [workers = workers_.get()] { workers->ResumeAccepting(); });
      budgets_.push_back(listener.budget);
    } else {
      listener.budget->SetLimit(options.maxconn);
    }
    auto context = std::make_shared<ServiceContext>();
    context->snapshot = snapshot;
    context->options = &options;
    context->speaks = options.type;
    context->outgoing = {options.external_ipv4, options.external_ipv6, options.outgoing_device,
                         options.upstream_socket_options};
    context->port = listener.bound.is_ip() ? listener.bound.port() : 0;
    context->clients_are_tcp = !listener.bound.is_unix();
    context->budget = listener.budget;
    context->log = (*logs)[i];
    context->log_addresses = WantsAddresses(options.log);
    context->resolver = resolver_;
    context->handshakes = handshakes_.get();
    context->parent_health = &parent_health_;
    context->cancellation = &cancellation_;
    context->limits = limits;
    context->own_proxies = own_proxies;
    if (listener.gate == nullptr) {
      listener.gate = std::make_shared<auth::CurrentGate>(gates[i]);
    } else {
      listener.gate->Set(gates[i]);
    }
    context->gate = gates[i];
    context->current_gate = listener.gate;
    context->leads_to_itself = loops[i];
    if (loops[i]) {
      options_.say(absl::StrCat(DescribeService(options, listener.bound),
                                ": warning: its target leads back to this service; its clients are refused"));
    }
    handlers.push_back(options_.make_handler(context));
    if (options.tls.server != nullptr) {
      handlers.back().streams = std::make_shared<TlsClients>(context, std::move(handlers.back().streams));
    }
    if (options.proxy_protocol.required) {
      handlers.back().streams = std::make_shared<ProxiedClients>(context, std::move(handlers.back().streams));
    }
    listening->push_back(absl::StrCat("listening ", options.log_name, " ", listener.bound.ToString()));
  }
  listeners_->Commit(*std::move(plan), handlers);
  if (snapshot_ != nullptr) log_->Reopen();
  snapshot_ = snapshot;
  budgets_.erase(std::remove_if(budgets_.begin(), budgets_.end(),
                                [](const auto& budget) { return budget.use_count() == 1 && budget->used() == 0; }),
                 budgets_.end());
  return absl::OkStatus();
}

relay::ReviewTally Server::ReviewSessions() {
  struct Shared {
    sys::Mutex mutex;
    sys::CondVar done;
    relay::ReviewTally tally ABSL_GUARDED_BY(mutex);
    int left ABSL_GUARDED_BY(mutex) = 0;
  };
  const auto shared = std::make_shared<Shared>();
  sys::MutexLock lock(shared->mutex);
  shared->left = workers_->size();
  for (int i = 0; i < workers_->size(); ++i) {
    workers_->at(i).Run([shared](relay::Worker& worker) {
      worker.Review([shared](const relay::ReviewTally& tally) {
        sys::MutexLock lock(shared->mutex);
        shared->tally.kept += tally.kept;
        shared->tally.changed += tally.changed;
        shared->tally.revoked += tally.revoked;
        if (--shared->left == 0) shared->done.NotifyAll();
      });
    });
  }
  const sys::MonotonicNanos give_up = sys::Clock::System().Now() + kReviewNanos;
  while (shared->left > 0) {
    const int64_t left = give_up - sys::Clock::System().Now();
    if (left <= 0) break;
    shared->done.WaitFor(shared->mutex, std::chrono::nanoseconds(left));
  }
  return shared->tally;
}

absl::Status Server::Start() { return workers_->Start(); }

void Server::SayIfGrown(int64_t now, int64_t& seen, const std::string& what) {
  if (now > seen) options_.say(absl::StrCat(what, " (", now - seen, " times in the last second)"));
  seen = now;
}

void Server::Watch() {
  Seen now;
  int64_t slowest = 0;
  for (int i = 0; i < workers_->size(); ++i) {
    const relay::Worker& worker = workers_->at(i);
    now.descriptor_pauses += worker.acceptor_stats().descriptor_pauses.value();
    now.full_pauses += worker.acceptor_stats().full_pauses.value();
    now.slow_turns += worker.stats().slow_turns.value();
    slowest = std::max(slowest, worker.stats().slowest_turn_nanos.value());
    for (const relay::DatagramStats* datagrams : {&worker.association_stats(), &worker.mapped_port_stats()}) {
      now.datagrams_full += datagrams->dropped_full.value();
      now.datagrams_parked += datagrams->dropped_parked.value();
      now.datagrams_no_resource += datagrams->dropped_no_resource.value();
    }
  }
  if (watches_own_addresses_) own_addresses_->Refresh();
  now.shed = handshakes_->stats().shed;
  SayIfGrown(now.descriptor_pauses, seen_.descriptor_pauses,
             "descriptors run short, accepting pauses: raise the open files limit or lower maxconn");
  SayIfGrown(now.full_pauses, seen_.full_pauses, absl::StrCat("maxconn reached, clients wait in the backlog"));
  SayIfGrown(now.shed, seen_.shed, "no handshake thread in time, clients were refused: raise --handshake-threads");
  SayIfGrown(now.datagrams_full, seen_.datagrams_full,
             "datagrams were dropped, the send buffer was full: the network takes fewer than come (net.core.wmem_max)");
  SayIfGrown(now.datagrams_parked, seen_.datagrams_parked,
             "datagrams were dropped, too many waited for a name: the name servers are slow");
  SayIfGrown(now.datagrams_no_resource, seen_.datagrams_no_resource,
             "datagrams were dropped, there was no socket for them: raise the open files limit");
  SayIfGrown(now.slow_turns, seen_.slow_turns,
             absl::StrCat("a worker's turn took over 10 ms (the slowest so far ", slowest / sys::kNanosPerMilli,
                          " ms): the machine is overloaded or paused"));
}

void Server::StopAccepting() {
  listeners_->CloseAll();
  for (int i = 0; i < workers_->size(); ++i) {
    workers_->at(i).Run([](relay::Worker& worker) { worker.EndIdle(); });
  }
}

int Server::connections() const {
  int sum = 0;
  for (const auto& budget : budgets_) sum += budget->used();
  return sum;
}

bool Server::idle() const { return listeners_->closing() == 0 && connections() == 0; }

void Server::EndSessions() {
  for (int i = 0; i < workers_->size(); ++i) {
    workers_->at(i).Run([](relay::Worker& worker) { worker.EndAll(relay::EndCode::kShutDown); });
  }
}

void Server::Stop() {
  // What handshake threads wait for ends first, then they do, then nobody posts to the workers any more.
  cancellation_.Cancel();
  if (handshakes_ != nullptr) handshakes_->Stop();
  if (workers_ != nullptr) workers_->Stop();
  metering_.Stop();
  if (log_ != nullptr) log_->Stop();
}

}  // namespace sluice::service
