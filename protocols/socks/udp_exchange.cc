#include "protocols/socks/udp_exchange.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "protocols/accounting/traffic_record.h"
#include "protocols/dns/question.h"
#include "protocols/dns/resolver.h"
#include "protocols/dns/result.h"
#include "protocols/service/handshake_pool.h"
#include "protocols/service/service_context.h"
#include "protocols/service/snapshot.h"
#include "protocols/socks/resolve.h"
#include "protocols/socks/udp_header.h"
#include "relay/session_observer.h"
#include "sys/thread/clock.h"

namespace sluice::socks {
namespace {

static_assert(kMostAddressHeaderBytes <= relay::AssociationObserver::kMostHeaderBytes);

sys::SocketAddress FirstOf(const dns::Result& result, uint16_t port) {
  if (!result.ok()) return {};
  sys::SocketAddress address = result.addresses.front();
  address.set_port(port);
  return address;
}

void NoteDestination(const sys::SocketAddress& to, absl::string_view name, accounting::TrafficRecord& record) {
  record.upstream = to;
  record.host = name;
  record.text = absl::StrCat(CommandName(Command::kUdpAssociate), " ",
                             name.empty() ? to.ToString() : absl::StrCat(name, ":", to.port()));
}

}  // namespace

relay::AssociationObserver::Opened UdpExchange::Open(absl::string_view datagram) {
  const UdpHeader header = ParseUdpHeader(datagram);
  Opened opened;
  if (header.kind == UdpHeader::Kind::kAddress) {
    opened.to = Opened::To::kAddress;
    opened.address = header.address;
  } else if (header.kind == UdpHeader::Kind::kName) {
    opened.to = Opened::To::kName;
    opened.name = header.name;
    opened.port = header.port;
  }
  opened.header_bytes = header.bytes;
  return opened;
}

size_t UdpExchange::Seal(const sys::SocketAddress& from, char* header) { return WriteUdpHeader(from, header); }

bool UdpExchange::Admit(const sys::SocketAddress& to, absl::string_view name) {
  const service::ServiceContext& context = exchange_->context();
  const bool judged = !any_met_ || context.options->socks.judge_each_destination;
  if (judged && !exchange_->base().MayReach(to, name)) return false;
  if (!any_met_) NoteDestination(to, name, exchange_->record());
  any_met_ = true;
  if (context.options->socks.log_each_destination && context.log != nullptr) {
    accounting::TrafficRecord met = exchange_->record().Clone();
    NoteDestination(to, name, met);
    met.interim = true;
    met.duration_nanos = sys::Clock::System().WallNanos() - met.started_wall_nanos;
    context.log->Submit(std::move(met));
  }
  return true;
}

std::optional<sys::SocketAddress> UdpExchange::Resolve(absl::string_view name, uint16_t port,
                                                       relay::DatagramTicket ticket) {
  const service::ServiceContext& context = exchange_->context();
  dns::Query query = QueryFor(name, *context.options);
  const std::optional<dns::Result> known = context.resolver->TryCache(query);
  if (known.has_value()) return FirstOf(*known, port);
  service::HandshakePool::Task task;
  task.destination = absl::StrCat(name, ":", port);
  task.client_address = exchange_->record().client.IpText();
  task.deadline = sys::Clock::System().Now() + context.options->timeouts.dns;
  auto tell = [worker = worker_, ticket](const sys::SocketAddress& address) {
    worker->Run([ticket, address](relay::Worker& here) { here.associations().Resolved(ticket, address); });
  };
  // The context's own life, not the association's, which may end meanwhile.
  task.run = [resolver = context.resolver, nanos = context.options->timeouts.dns, query = std::move(query), port,
              tell] { tell(FirstOf(resolver->ResolveBlocking(query, sys::Clock::System().Now() + nanos), port)); };
  task.shed = [tell] { tell({}); };
  context.handshakes->Submit(std::move(task));
  return std::nullopt;
}

void UdpExchange::OnEnd(const relay::AssociationReport& report) {
  relay::SessionReport session;
  session.reason = report.reason;
  session.from_client.bytes = report.bytes_from_client;
  session.from_upstream.bytes = report.bytes_from_upstream;
  session.started = report.started;
  session.ended = report.ended;
  exchange_->OnEnd(session);
}

}  // namespace sluice::socks
