#include "protocols/gateways/udp_port_map.h"

#include <cerrno>
#include <string>

#include "absl/strings/str_cat.h"
#include "protocols/accounting/result_code.h"
#include "protocols/dns/question.h"
#include "protocols/dns/resolver.h"
#include "protocols/dns/result.h"
#include "protocols/service/exchange_observer.h"
#include "protocols/service/handshake_pool.h"
#include "protocols/service/snapshot.h"
#include "relay/session_observer.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::gateways {
namespace {

class UdpExchange final : public relay::MappedObserver {
 public:
  UdpExchange(std::shared_ptr<const service::ServiceContext> context, const sys::SocketAddress& client)
      : base_(std::move(context), client) {}

  service::ExchangeObserver& base() { return base_; }

  void OnConnected(int upstream_fd, const sys::SocketAddress& target) override {
    base_.OnConnected(upstream_fd, target);
  }

  void OnEnd(const relay::AssociationReport& report) override {
    relay::SessionReport session;
    session.reason = report.reason;
    session.from_client.bytes = report.bytes_from_client;
    session.from_upstream.bytes = report.bytes_from_upstream;
    session.started = report.started;
    session.ended = report.ended;
    base_.OnEnd(session);
  }

 private:
  service::ExchangeObserver base_;
};

dns::Query QueryFor(const service::ServiceOptions& options) {
  dns::Query query;
  query.name = options.target.host_name;
  switch (options.family) {
    case service::FamilyPreference::kIpv4Only:
      query.family = dns::FamilyPreference::kIpv4Only;
      break;
    case service::FamilyPreference::kIpv6Only:
      query.family = dns::FamilyPreference::kIpv6Only;
      break;
    case service::FamilyPreference::kPreferIpv4:
      query.family = dns::FamilyPreference::kPreferIpv4;
      break;
    case service::FamilyPreference::kPreferIpv6:
      query.family = dns::FamilyPreference::kPreferIpv6;
      break;
  }
  return query;
}

sys::SocketAddress FirstOf(const dns::Result& result, uint16_t port) {
  if (!result.ok()) return {};
  sys::SocketAddress address = result.addresses.front();
  address.set_port(port);
  return address;
}

}  // namespace

std::optional<relay::MappedPortHandler::Client> UdpPortMap::OnClient(relay::Worker& worker,
                                                                     const sys::SocketAddress& client,
                                                                     relay::DatagramTicket ticket) {
  const service::ServiceOptions& options = *context_->options;
  auto exchange = std::make_unique<UdpExchange>(context_, client);
  Client result;
  if (context_->leads_to_itself) {
    exchange->base().Refuse(accounting::result::kLoop, accounting::Phase::kConnect, ELOOP);
    return std::nullopt;
  }
  if (options.target.host_name.empty()) {
    result.target = options.target.address;
  } else {
    exchange->base().record().host = options.target.host_name;
    const std::optional<dns::Result> known = context_->resolver->TryCache(QueryFor(options));
    if (known.has_value() && !known->ok()) {
      exchange->base().Refuse(accounting::result::kNameNotResolved, accounting::Phase::kResolve, 0);
      return std::nullopt;
    }
    if (known.has_value()) {
      result.target = FirstOf(*known, options.target.port);
    } else {
      ResolveOnThread(worker, client, ticket);
    }
  }
  result.observer = std::move(exchange);
  return result;
}

void UdpPortMap::ResolveOnThread(relay::Worker& worker, const sys::SocketAddress& client,
                                 relay::DatagramTicket ticket) const {
  const service::ServiceOptions& options = *context_->options;
  service::HandshakePool::Task task;
  task.destination = absl::StrCat(options.target.host_name, ":", options.target.port);
  task.client_address = client.IpText();
  task.deadline = sys::Clock::System().Now() + options.timeouts.dns;
  auto tell = [&worker, ticket](const sys::SocketAddress& target) {
    worker.Run([ticket, target](relay::Worker& here) { here.mapped_ports().Resolved(ticket, target); });
  };
  task.run = [context = context_, tell] {
    const service::ServiceOptions& options = *context->options;
    const sys::MonotonicNanos deadline = sys::Clock::System().Now() + options.timeouts.dns;
    tell(FirstOf(context->resolver->ResolveBlocking(QueryFor(options), deadline), options.target.port));
  };
  task.shed = [tell] { tell({}); };
  context_->handshakes->Submit(std::move(task));
}

}  // namespace sluice::gateways
