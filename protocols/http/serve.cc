#include "protocols/http/serve.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "protocols/dns/question.h"
#include "protocols/dns/resolver.h"
#include "protocols/http/exchange.h"
#include "protocols/http/http_session.h"
#include "protocols/http/request_head.h"
#include "protocols/http/result.h"
#include "protocols/http/tunnel.h"
#include "protocols/service/handshake_pool.h"
#include "protocols/service/self_loops.h"
#include "relay/handoff.h"
#include "sys/thread/clock.h"

namespace sluice::http {
namespace {

using accounting::Phase;

dns::FamilyPreference FamilyOf(service::FamilyPreference family) {
  switch (family) {
    case service::FamilyPreference::kIpv4Only:
      return dns::FamilyPreference::kIpv4Only;
    case service::FamilyPreference::kIpv6Only:
      return dns::FamilyPreference::kIpv6Only;
    case service::FamilyPreference::kPreferIpv4:
      return dns::FamilyPreference::kPreferIpv4;
    case service::FamilyPreference::kPreferIpv6:
      return dns::FamilyPreference::kPreferIpv6;
  }
  return dns::FamilyPreference::kPreferIpv4;
}

// A session that has everything but somewhere to connect to.
struct Pending {
  relay::Handoff handoff;
  Exchange* exchange = nullptr;  // the handoff's observer
  std::string host;
  uint16_t port = 0;
};

bool LeadsToUs(const sys::SocketAddress& target, const service::ServiceContext& context, int client) {
  if (context.own_proxies != nullptr && service::ReachesAny(target, *context.own_proxies)) return true;
  // Where this client came in, if that is another address than the one that is listened on (a redirected port).
  return target.port() == context.port && sys::SocketAddress::OfSocket(client) == target;
}

relay::Handoff WithAddresses(dns::Result result, Pending pending, const service::ServiceContext& context) {
  Exchange& exchange = *pending.exchange;
  if (!result.ok()) {
    const int error = result.outcome == dns::Outcome::kTimeout ? ETIMEDOUT : 0;
    exchange.RefuseWith(AnswerToNoAddress(result.outcome, pending.host), accounting::result::kNameNotResolved,
                        Phase::kResolve, error);
    return std::move(pending.handoff);
  }
  for (sys::SocketAddress& address : result.addresses) address.set_port(pending.port);
  const auto ours = std::find_if(result.addresses.begin(), result.addresses.end(), [&](const sys::SocketAddress& a) {
    return LeadsToUs(a, context, pending.handoff.client.get());
  });
  if (ours != result.addresses.end()) {
    exchange.record().upstream = *ours;
    Answer answer;
    answer.status = 508;
    answer.error = "proxy_loop_detected";
    answer.text = absl::StrCat(pending.host, " port ", pending.port, " is this proxy itself.");
    exchange.RefuseWith(answer, accounting::result::kLoop, Phase::kConnect, ELOOP);
    return std::move(pending.handoff);
  }
  pending.handoff.plan.candidates = std::move(result.addresses);
  return std::move(pending.handoff);
}

void ResolveOnThread(relay::Worker& worker, std::shared_ptr<const service::ServiceContext> context, dns::Query query,
                     Pending pending) {
  // Shared by the two ends that the task can have.
  auto shared = std::make_shared<Pending>(std::move(pending));
  service::HandshakePool* const pool = context->handshakes;
  service::HandshakePool::Task task;
  task.destination = absl::StrCat(query.name, ":", shared->port);
  task.client_address = shared->exchange->record().client.IpText();
  task.deadline = sys::Clock::System().Now() + context->options->timeouts.connect;
  task.run = [shared, context, &worker, query = std::move(query)] {
    dns::Result result =
        context->resolver->ResolveBlocking(query, sys::Clock::System().Now() + context->options->timeouts.dns);
    worker.Post(WithAddresses(std::move(result), std::move(*shared), *context));
  };
  task.shed = [shared, &worker] {
    Answer answer;
    answer.status = 503;
    answer.error = "connection_limit_reached";
    answer.text = "The proxy is overloaded.";
    shared->exchange->RefuseWith(answer, accounting::result::kOverloaded, Phase::kResolve, 0);
    worker.Post(std::move(shared->handoff));
  };
  pool->Submit(std::move(task));
}

void Connect(relay::Worker& worker, const HttpService& service, Pending pending) {
  worker.role().AssertHeld();
  dns::Query query;
  query.name = pending.host;
  query.family = FamilyOf(service.options().family);
  std::optional<dns::Result> known = service.context().resolver->TryCache(query);
  if (!known.has_value()) {
    return ResolveOnThread(worker, service.shared_context(), std::move(query), std::move(pending));
  }
  worker.Adopt(WithAddresses(*std::move(known), std::move(pending), service.context()));
}

relay::Handoff HandoffOf(RequestArrival& arrival, const HttpService& service) {
  relay::Handoff handoff;
  handoff.client = std::move(arrival.client);
  handoff.client_is_tcp = service.context().clients_are_tcp;
  handoff.admission = std::move(arrival.admission);
  handoff.plan.outgoing = &service.context().outgoing;
  return handoff;
}

void NoteInternal(const HttpService& service, int client, accounting::TrafficRecord& record) {
  if (service.context().log_addresses) record.Addresses().internal = sys::SocketAddress::OfSocket(client);
}

void Refuse(relay::Worker& worker, const HttpService& service, RequestArrival arrival, const RequestHead* request,
            Answer answer, accounting::ResultCode result) {
  worker.role().AssertHeld();
  auto tunnel = std::make_unique<Tunnel>(service.shared_context(), arrival.address);
  NoteInternal(service, arrival.client.get(), tunnel->record());
  if (request != nullptr) {
    NoteRequest(*request, tunnel->record());
    answer.head_only = request->method == Method::kHead;
  }
  tunnel->RefuseWith(answer, result, Phase::kHandshake, 0);
  relay::Handoff handoff = HandoffOf(arrival, service);
  handoff.options = &service.options().relay;
  handoff.observer = std::move(tunnel);
  worker.Adopt(std::move(handoff));
}

void OpenTunnel(relay::Worker& worker, const HttpService& service, RequestArrival arrival, const RequestHead& request,
                size_t end) {
  auto tunnel = std::make_unique<Tunnel>(service.shared_context(), arrival.address);
  NoteInternal(service, arrival.client.get(), tunnel->record());
  NoteRequest(request, tunnel->record());
  Pending pending{HandoffOf(arrival, service), tunnel.get(), std::string(request.authority.host),
                  request.authority.port};
  pending.handoff.options = &service.options().relay;
  pending.handoff.from_client = arrival.bytes.substr(end);
  pending.handoff.observer = std::move(tunnel);
  Connect(worker, service, std::move(pending));
}

void BeginExchange(relay::Worker& worker, const std::shared_ptr<const HttpService>& service, RequestArrival arrival,
                   const RequestHead& request, size_t begin, size_t end) {
  worker.role().AssertHeld();
  auto session = std::make_unique<HttpSession>(service, arrival.address, request.authority);
  NoteInternal(*service, arrival.client.get(), session->record());
  IdleUpstreams* const idle = arrival.fresh_upstream ? nullptr : service->IdleOf(worker);
  std::optional<IdleUpstreams::Upstream> upstream;
  // A request that may not be sent twice gets no upstream that may be about to end.
  if (idle != nullptr && request.body == BodyKind::kNone && request.method != Method::kPost) {
    upstream = idle->Take(RouteOf(request.authority), worker.now());
  }
  const absl::string_view raw = absl::string_view(arrival.bytes).substr(begin, end - begin);
  Pending pending{HandoffOf(arrival, *service), session.get(), std::string(request.authority.host),
                  request.authority.port};
  pending.handoff.options = &service->exchange_options();
  pending.handoff.from_client = session->Begin(request, raw, arrival.bytes.substr(end), upstream.has_value());
  if (upstream.has_value()) {
    session->UseUpstream(upstream->address);
    pending.handoff.upstream = std::move(upstream->fd);
    pending.handoff.upstream_is_tcp = upstream->address.is_ip();
    pending.handoff.observer = std::move(session);
    return worker.Adopt(std::move(pending.handoff));
  }
  pending.handoff.observer = std::move(session);
  Connect(worker, *service, std::move(pending));
}

}  // namespace

void RefuseHead(relay::Worker& worker, const HttpService& service, RequestArrival arrival, const HeadError& error) {
  Answer answer;
  answer.status = error.status;
  answer.error = "http_request_error";
  answer.text = absl::StrCat("The request was refused: ", error.what, ".");
  const bool long_head = error.status == 414 || error.status == 431;
  Refuse(worker, service, std::move(arrival), nullptr, std::move(answer),
         long_head ? result::kHeadTooLong : result::kBadRequest);
}

void Serve(relay::Worker& worker, const std::shared_ptr<const HttpService>& service, RequestArrival arrival,
           size_t begin, size_t end) {
  // The views of the request lie in a string of its own: `arrival` is on its way to the session.
  const std::string head = arrival.bytes.substr(begin, end - begin);
  RequestHead request;
  if (const HeadError error = ParseRequestHead(head, request); !error.ok()) {
    return RefuseHead(worker, *service, std::move(arrival), error);
  }
  HttpService::Verdict verdict = service->Examine(request);
  if (!verdict.ok()) {
    return Refuse(worker, *service, std::move(arrival), &request, std::move(verdict.answer), verdict.result);
  }
  if (request.method == Method::kConnect) return OpenTunnel(worker, *service, std::move(arrival), request, end);
  BeginExchange(worker, service, std::move(arrival), request, begin, end);
}

}  // namespace sluice::http
