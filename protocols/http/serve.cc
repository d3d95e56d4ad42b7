#include "protocols/http/serve.h"

#include <cerrno>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "protocols/access/operation.h"
#include "protocols/access/request_facts.h"
#include "protocols/auth/hearing.h"
#include "protocols/auth/judgement.h"
#include "protocols/dns/result.h"
#include "protocols/http/credentials.h"
#include "protocols/http/exchange.h"
#include "protocols/http/ftp_exchange.h"
#include "protocols/http/ftp_target.h"
#include "protocols/http/gate.h"
#include "protocols/http/http_session.h"
#include "protocols/http/request_head.h"
#include "protocols/http/request_reader.h"
#include "protocols/http/result.h"
#include "protocols/http/route.h"
#include "protocols/http/tunnel.h"
#include "protocols/service/handshake_pool.h"
#include "protocols/service/judged_lookup.h"
#include "protocols/service/original_destination.h"
#include "protocols/service/tls_upstream.h"
#include "relay/handoff.h"
#include "sys/thread/clock.h"

namespace sluice::http {
namespace {

using accounting::Phase;

Answer Overloaded() {
  Answer answer;
  answer.status = 503;
  answer.error = "connection_limit_reached";
  answer.text = "The proxy is overloaded.";
  return answer;
}

// A session that has everything but somewhere to connect to.
struct Pending {
  relay::Handoff handoff;
  Exchange* exchange = nullptr;  // the handoff's observer
  std::string host;
  uint16_t port = 0;
  access::Operation operation = access::Operation::kHttpOther;
  std::unique_ptr<auth::Hearing> hearing;  // null: everybody may

  access::RequestFacts Facts() const {
    access::RequestFacts facts;
    facts.client = exchange->record().client;
    facts.host = host;
    facts.port = port;
    facts.operation = operation;
    return facts;
  }
};

relay::Handoff WithJudged(service::JudgedLookup judged, Pending pending, const HttpService& service) {
  Exchange& exchange = *pending.exchange;
  exchange.Note(judged.judgement, pending.hearing.get(), pending.operation, pending.port);
  if (!judged.judgement.allowed()) {
    const Gate::Verdict denial = service.gate().OfDenial(judged.judgement.result);
    exchange.RefuseWith(denial.answer, denial.result, Phase::kHandshake, 0);
    return std::move(pending.handoff);
  }
  dns::Result& result = judged.result;
  if (!result.ok()) {
    const int error = result.outcome == dns::Outcome::kTimeout ? ETIMEDOUT : 0;
    exchange.RefuseWith(AnswerToNoAddress(result.outcome, pending.host), accounting::result::kNameNotResolved,
                        Phase::kResolve, error);
    return std::move(pending.handoff);
  }
  exchange.record().upstream = result.addresses.front();
  sys::SocketAddress target;
  const Gate::Verdict verdict =
      service.gate().OfAddresses(pending.host, result.addresses, pending.handoff.client.get(), target);
  if (!verdict.ok()) {
    exchange.record().upstream = target;
    exchange.RefuseWith(verdict.answer, verdict.result, Phase::kConnect, verdict.answer.status == 508 ? ELOOP : EACCES);
    return std::move(pending.handoff);
  }
  pending.handoff.plan.candidates = std::move(result.addresses);
  return std::move(pending.handoff);
}

void JudgeOnThread(relay::Worker& worker, std::shared_ptr<const HttpService> service, Pending pending) {
  // Shared by the two ends that the task can have.
  auto shared = std::make_shared<Pending>(std::move(pending));
  service::HandshakePool* const pool = service->context().handshakes;
  service::HandshakePool::Task task;
  task.destination = absl::StrCat(shared->host, ":", shared->port);
  task.client_address = shared->exchange->record().client.IpText();
  task.deadline = sys::Clock::System().Now() + service->options().timeouts.connect;
  task.run = [shared, service, &worker] {
    const std::string host = shared->host;
    auto judged = service::JudgeAndLookUp(service->context(), shared->hearing.get(), shared->Facts());
    relay::Handoff handoff = WithJudged(std::move(judged), std::move(*shared), *service);
    service::SecureUpstream(service->context(), host, handoff);
    worker.Post(std::move(handoff));
  };
  task.shed = [shared, &worker] {
    shared->exchange->RefuseWith(Overloaded(), accounting::result::kOverloaded, Phase::kResolve, 0);
    worker.Post(std::move(shared->handoff));
  };
  pool->Submit(std::move(task));
}

void Connect(relay::Worker& worker, const std::shared_ptr<const HttpService>& service, Pending pending) {
  worker.role().AssertHeld();
  auto judged = service::TryJudgeAndLookUp(service->context(), pending.hearing.get(), pending.Facts());
  if (!judged.has_value()) return JudgeOnThread(worker, service, std::move(pending));
  std::string host = pending.host;
  service::AdoptSecured(worker, service->context(), std::move(host),
                        WithJudged(*std::move(judged), std::move(pending), *service));
}

relay::Handoff HandoffOf(RequestArrival& arrival, const HttpService& service) {
  relay::Handoff handoff;
  handoff.client = std::move(arrival.client);
  handoff.client_is_tcp = service.context().clients_are_tcp;
  handoff.client_transform = std::move(arrival.transform);
  handoff.admission = std::move(arrival.admission);
  handoff.plan.outgoing = &service.context().outgoing;
  return handoff;
}

void NoteInternal(const HttpService& service, int client, accounting::TrafficRecord& record) {
  if (service.context().log_addresses) record.Addresses().internal = sys::SocketAddress::OfSocket(client);
}

// The answer, and then the end: a session without an upstream.
void AnswerAndEnd(relay::Worker& worker, const HttpService& service, RequestArrival arrival,
                  std::unique_ptr<Tunnel> tunnel) {
  worker.role().AssertHeld();
  relay::Handoff handoff = HandoffOf(arrival, service);
  handoff.options = &service.options().relay;
  handoff.observer = std::move(tunnel);
  worker.Adopt(std::move(handoff));
}

// The answer, and the client may ask again. Not where it has sent more than this request: that is for sessions, which
// take one request after the other in their turns.
void AnswerAndGoOn(relay::Worker& worker, const std::shared_ptr<const HttpService>& service, RequestArrival arrival,
                   std::unique_ptr<Tunnel> tunnel, std::string answer) {
  relay::Transform* const transform = arrival.transform.get();
  const int64_t sent = relay::SendSome(arrival.client.get(), transform, answer.data(), answer.size());
  const bool held = transform != nullptr && transform->holds_output();
  if (sent != static_cast<int64_t>(answer.size()) || held) {  // there is no room for it now
    tunnel->StillSay(answer.substr(sent > 0 ? static_cast<size_t>(sent) : 0));
    return AnswerAndEnd(worker, *service, std::move(arrival), std::move(tunnel));
  }
  tunnel->WasTold();
  // In the next turn: a client that sends one such request after the other has one of them served in each.
  auto client = std::make_shared<ReturningClient>(ReturningClient{std::move(arrival.client), std::move(arrival.address),
                                                                  std::move(arrival.admission), "", false,
                                                                  std::move(arrival.transform)});
  worker.Run([service, client](relay::Worker& worker) { ServeAgain(worker, service, std::move(*client)); });
}

// `judgement`: the denial, where that is the reason; else null.
void Refuse(relay::Worker& worker, const std::shared_ptr<const HttpService>& service, RequestArrival arrival,
            const RequestHead& request, size_t end, Answer answer, accounting::ResultCode result,
            const auth::Judgement* judgement) {
  auto tunnel = std::make_unique<Tunnel>(service->shared_context(), arrival.address);
  NoteInternal(*service, arrival.client.get(), tunnel->record());
  NoteRequest(request, tunnel->record());
  tunnel->record().user = ClaimOf(request).user;
  if (judgement != nullptr) {
    const access::RequestFacts facts = FactsOf(request, arrival.address);
    tunnel->Note(*judgement, nullptr, facts.operation, facts.port);
  }
  answer.head_only = request.method == Method::kHead;
  answer.client_minor_version = request.minor_version;
  answer.keep_alive = request.keep_alive && request.body == BodyKind::kNone && request.method != Method::kConnect &&
                      arrival.bytes.size() == end;
  tunnel->RefuseWith(answer, result, Phase::kHandshake, 0);
  if (answer.keep_alive) return AnswerAndGoOn(worker, service, std::move(arrival), std::move(tunnel), ToBytes(answer));
  AnswerAndEnd(worker, *service, std::move(arrival), std::move(tunnel));
}

void OpenTunnel(relay::Worker& worker, const std::shared_ptr<const HttpService>& service, RequestArrival arrival,
                const RequestHead& request, size_t end, std::unique_ptr<auth::Hearing> hearing) {
  auto tunnel = std::make_unique<Tunnel>(service->shared_context(), arrival.address);
  NoteInternal(*service, arrival.client.get(), tunnel->record());
  NoteRequest(request, tunnel->record());
  if (hearing != nullptr) tunnel->record().user = hearing->claim().user;
  Pending pending{HandoffOf(arrival, *service),        tunnel.get(),
                  std::string(request.authority.host), request.authority.port,
                  access::Operation::kHttpConnect,     std::move(hearing)};
  pending.handoff.options = &service->options().relay;
  pending.handoff.from_client = arrival.bytes.substr(end);
  pending.handoff.observer = std::move(tunnel);
  Connect(worker, service, std::move(pending));
}

// A request that could not be sent again in full gets no upstream that may be about to end.
bool MayBeginOnIdle(const RequestHead& request, size_t head_bytes) {
  const int64_t most = static_cast<int64_t>(KeepaliveFramer::kMostRetryBytes) - static_cast<int64_t>(head_bytes);
  return most >= 0 &&
         (request.body == BodyKind::kNone || (request.body == BodyKind::kLength && request.body_bytes <= most));
}

// An upstream that waits, if the rules let this client reach its address, too: somebody else has opened it.
std::optional<IdleUpstreams::Upstream> TakeAllowedIdle(relay::Worker& worker, const HttpService& service,
                                                       const std::string& route, const RequestHead& request,
                                                       auth::Hearing* hearing, HttpSession& session) {
  std::optional<IdleUpstreams::Upstream> upstream = service.TakeIdle(worker, route);
  if (!upstream.has_value()) return std::nullopt;
  access::RequestFacts facts = FactsOf(request, session.record().client);
  const access::Operation operation = facts.operation;
  const uint16_t port = facts.port;
  auth::Judgement allowed;
  allowed.outcome = auth::Judgement::Outcome::kAllowed;
  std::optional<auth::Judgement> judgement = allowed;
  if (hearing != nullptr) {
    facts.target = upstream->address;
    judgement = hearing->TryJudge(facts, auth::Stage::kFinal);
  }
  if (!judgement.has_value() || !judgement->allowed()) {
    service.PutIdle(worker, route, *std::move(upstream));
    return std::nullopt;
  }
  session.Note(*judgement, hearing, operation, port);
  return upstream;
}

void BeginExchange(relay::Worker& worker, const std::shared_ptr<const HttpService>& service, RequestArrival arrival,
                   const RequestHead& request, size_t begin, size_t end, std::unique_ptr<auth::Hearing> hearing) {
  worker.role().AssertHeld();
  const std::string route = RouteOf(request.authority, /*way=*/"");
  auto session = std::make_unique<HttpSession>(service, arrival.address, route);
  NoteInternal(*service, arrival.client.get(), session->record());
  session->record().host = request.authority.host;
  if (hearing != nullptr) session->NoteAuthorization(AuthorizationOf(request.fields));
  const access::Operation operation = FactsOf(request, arrival.address).operation;
  std::optional<IdleUpstreams::Upstream> upstream;
  if (!arrival.fresh_upstream && MayBeginOnIdle(request, end - begin)) {
    upstream = TakeAllowedIdle(worker, *service, route, request, hearing.get(), *session);
  }
  const absl::string_view raw = absl::string_view(arrival.bytes).substr(begin, end - begin);
  Pending pending{HandoffOf(arrival, *service), session.get(), std::string(request.authority.host),
                  request.authority.port,       operation,     std::move(hearing)};
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
  Connect(worker, service, std::move(pending));
}

void BeginFtp(relay::Worker& worker, const std::shared_ptr<const HttpService>& service, RequestArrival arrival,
              const RequestHead& request, size_t end, std::unique_ptr<auth::Hearing> hearing) {
  FtpTarget target;
  if (const HeadError error = ParseFtpTarget(request, target); !error.ok()) {
    Answer answer;
    answer.status = error.status;
    answer.text = absl::StrCat("The request was refused: ", error.what, ".");
    return Refuse(worker, service, std::move(arrival), request, end, std::move(answer), result::kBadRequest, nullptr);
  }
  service::HandshakePool::Task task;
  task.destination = RouteOf(request.authority, "ftp");
  task.client_address = arrival.address.IpText();
  task.deadline = sys::Clock::System().Now() + service->options().timeouts.connect;
  auto exchange = std::make_shared<FtpExchange>(worker, service, std::move(arrival), request, std::move(target), end,
                                                std::move(hearing));
  task.run = [exchange] { exchange->Run(); };
  task.shed = [exchange] { exchange->Shed(); };
  service->context().handshakes->Submit(std::move(task));
}

// Whom a request is for that names nobody: with `-T` where the client was going, else the destination of `-h`.
class NamelessTarget {
 public:
  NamelessTarget(const HttpService& service, int client) : configured_(service.policy().fallback()) {
    if (!service.options().transparent) return;
    const auto original = service::OriginalDestination(client, service.context().port);
    if (!original.has_value()) return;
    host_ = original->IpText();
    original_.host = host_;
    original_.port = original->port();
    original_.ipv6 = original->family() == sys::AddressFamily::kIpv6;
  }

  // Views lie in this object, or in the service.
  const Authority* get() const { return host_.empty() ? configured_ : &original_; }

 private:
  const Authority* const configured_;
  std::string host_;
  Authority original_;
};

}  // namespace

void RefuseHead(relay::Worker& worker, const HttpService& service, RequestArrival arrival, const HeadError& error) {
  Answer answer;
  answer.status = error.status;
  answer.error = "http_request_error";
  answer.text = absl::StrCat("The request was refused: ", error.what, ".");
  const bool long_head = error.status == 414 || error.status == 431;
  auto tunnel = std::make_unique<Tunnel>(service.shared_context(), arrival.address);
  NoteInternal(service, arrival.client.get(), tunnel->record());
  tunnel->record().text = RedactedLine(arrival.bytes);
  tunnel->RefuseWith(answer, long_head ? result::kHeadTooLong : result::kBadRequest, Phase::kHandshake, 0);
  AnswerAndEnd(worker, service, std::move(arrival), std::move(tunnel));
}

namespace {

void HearOnThread(relay::Worker& worker, const std::shared_ptr<const HttpService>& service, RequestArrival arrival,
                  size_t begin, size_t end, const RequestHead& request, std::unique_ptr<auth::Hearing> hearing);

// `hearing`: what a thread has found out about the client already; else null.
void ServeHeard(relay::Worker& worker, const std::shared_ptr<const HttpService>& service, RequestArrival arrival,
                size_t begin, size_t end, std::unique_ptr<auth::Hearing> hearing) {
  // The views of the request lie in a string of its own: `arrival` is on its way to the session.
  const std::string head = arrival.bytes.substr(begin, end - begin);
  RequestHead request;
  const NamelessTarget nameless(*service, arrival.client.get());
  if (const HeadError error = ParseRequestHead(head, request, nameless.get()); !error.ok()) {
    return RefuseHead(worker, *service, std::move(arrival), error);
  }
  Gate::Verdict verdict = service->gate().OfRequest(request);
  if (!verdict.ok()) {
    return Refuse(worker, service, std::move(arrival), request, end, std::move(verdict.answer), verdict.result,
                  nullptr);
  }
  if (hearing == nullptr && !service->context().IsOpen()) {
    hearing = service::HearingFor(service->context(), ClaimOf(request), sys::Clock::System().WallNanos());
  }
  if (hearing != nullptr) {
    const std::optional<auth::Judgement> judgement =
        hearing->TryJudge(FactsOf(request, arrival.address), auth::Stage::kBeforeResolution);
    if (!judgement.has_value()) {
      return HearOnThread(worker, service, std::move(arrival), begin, end, request, std::move(hearing));
    }
    if (judgement->outcome == auth::Judgement::Outcome::kDenied) {
      verdict = service->gate().OfDenial(judgement->result);
      return Refuse(worker, service, std::move(arrival), request, end, std::move(verdict.answer), verdict.result,
                    &*judgement);
    }
  }
  if (request.method == Method::kConnect) {
    return OpenTunnel(worker, service, std::move(arrival), request, end, std::move(hearing));
  }
  if (request.scheme == Scheme::kFtp) {
    return BeginFtp(worker, service, std::move(arrival), request, end, std::move(hearing));
  }
  BeginExchange(worker, service, std::move(arrival), request, begin, end, std::move(hearing));
}

// A password has to be checked, or a name server asked: a thread does, and the request is served with what it has found
// out.
void HearOnThread(relay::Worker& worker, const std::shared_ptr<const HttpService>& service, RequestArrival arrival,
                  size_t begin, size_t end, const RequestHead& request, std::unique_ptr<auth::Hearing> hearing) {
  struct Waiting {
    RequestArrival arrival;
    std::unique_ptr<auth::Hearing> hearing;
    std::string host;
    access::RequestFacts facts;
  };
  auto waiting = std::make_shared<Waiting>();
  waiting->host = std::string(request.authority.host);
  waiting->facts = FactsOf(request, arrival.address);
  waiting->facts.host = waiting->host;
  waiting->arrival = std::move(arrival);
  waiting->hearing = std::move(hearing);
  service::HandshakePool::Task task;
  task.client_address = waiting->arrival.address.IpText();
  task.deadline = sys::Clock::System().Now() + service->options().timeouts.connect;
  const auto go_on = [waiting, service, &worker, begin, end] {
    worker.Run([waiting, service, begin, end](relay::Worker& here) {
      ServeHeard(here, service, std::move(waiting->arrival), begin, end, std::move(waiting->hearing));
    });
  };
  task.run = [waiting, go_on] {
    waiting->hearing->JudgeBlocking(waiting->facts, auth::Stage::kBeforeResolution);
    go_on();
  };
  task.shed = [waiting, service, &worker] {
    worker.Run([waiting, service](relay::Worker& here) {
      auto tunnel = std::make_unique<Tunnel>(service->shared_context(), waiting->arrival.address);
      tunnel->RefuseWith(Overloaded(), accounting::result::kOverloaded, Phase::kHandshake, 0);
      AnswerAndEnd(here, *service, std::move(waiting->arrival), std::move(tunnel));
    });
  };
  service->context().handshakes->Submit(std::move(task));
}

}  // namespace

void Serve(relay::Worker& worker, const std::shared_ptr<const HttpService>& service, RequestArrival arrival,
           size_t begin, size_t end) {
  ServeHeard(worker, service, std::move(arrival), begin, end, nullptr);
}

}  // namespace sluice::http
