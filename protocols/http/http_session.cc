#include "protocols/http/http_session.h"

#include <sys/random.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "protocols/access/request_facts.h"
#include "protocols/access/verdict.h"
#include "protocols/http/credentials.h"
#include "protocols/http/gate.h"
#include "protocols/http/request_reader.h"
#include "protocols/http/result.h"
#include "protocols/http/route.h"
#include "protocols/http/tunnel.h"
#include "protocols/service/judged_lookup.h"
#include "protocols/service/service_context.h"
#include "sys/thread/clock.h"

namespace sluice::http {
namespace {

constexpr int kUp = 0;

void AddPath(relay::DataPath& path, relay::DataPath way) {
  if (path == relay::DataPath::kNone) path = way;
  if (path != way) path = relay::DataPath::kBoth;
}

}  // namespace

HttpSession::HttpSession(std::shared_ptr<const HttpService> service, const sys::SocketAddress& client,
                         std::string route)
    : KeepaliveFramer(&service->policy()), service_(std::move(service)), route_(std::move(route)) {
  record_.client = client;
  record_.service = "PROXY";
  record_.service_port = service_->context().port;
  record_.phase = accounting::Phase::kConnect;
}

void HttpSession::UseUpstream(const sys::SocketAddress& upstream) {
  record_.upstream = upstream;
  record_.phase = accounting::Phase::kRelay;
}

void HttpSession::RefuseWith(const Answer& answer, accounting::ResultCode result, accounting::Phase phase, int error) {
  Answer form = answer;
  form.head_only = method() == Method::kHead;
  refusal_ = ToBytes(form);
  record_.result = result;
  record_.phase = phase;
  record_.error = error;
}

void HttpSession::Note(const auth::Judgement& judgement, const auth::Hearing* hearing, access::Operation operation,
                       uint16_t port) {
  gate_ = hearing == nullptr || hearing->shared_gate() == service_->context().gate ? nullptr : hearing->shared_gate();
  rule_ = judgement.verdict.rule;
  standing_ = {port, operation, judgement.identity.proof};
  silent_ = !judgement.verdict.log();
  if (hearing == nullptr) return;
  record_.user = judgement.identity.user.empty() ? hearing->claim().user : judgement.identity.user;
}

bool HttpSession::Serves(const RequestHead& request) const {
  return request.method != Method::kConnect && request.scheme == Scheme::kHttp && LeadsTo(route_, request.authority) &&
         service_->gate().OfRequest(request).ok() && IsJudgedAlike(request);
}

// The same client, which the same rule lets in: nothing has to be found out again.
bool HttpSession::IsJudgedAlike(const RequestHead& request) const {
  const service::ServiceContext& context = service_->context();
  if (context.IsOpen()) return !is_reviewed_ && gate_ == nullptr;
  const auth::Gate& gate = gate_ != nullptr ? *gate_ : *context.gate;
  if (is_reviewed_ || !context.current_gate->Is(gate)) return false;
  if (AuthorizationOf(request.fields) != authorization_) return false;
  access::RequestFacts facts = FactsOf(request, record_.client);
  facts.target = record_.Requested();
  if (standing_.proof != auth::Proof::kNone) facts.user = record_.user.view();
  const access::Verdict verdict = gate.Decide(std::move(facts), sys::Clock::System().WallNanos());
  return verdict.allowed() && verdict.rule == rule_;
}

relay::Review HttpSession::OnReview() {
  if (!refusal_.empty()) return relay::Review::kKept;
  const service::ServiceContext& context = service_->context();
  const auth::Gate& before = gate_ != nullptr ? *gate_ : *context.gate;
  if (context.current_gate->Is(before)) return relay::Review::kKept;
  is_reviewed_ = true;
  std::shared_ptr<const auth::Gate> now = context.current_gate->Get();
  access::RequestFacts facts = service::FactsOf(record_, standing_.operation, standing_.port);
  facts.user = record_.user.view();
  const relay::Review review = auth::ReviewSession(before, *now, standing_.proof, facts, record_.started_wall_nanos);
  gate_ = std::move(now);
  return review;
}

uint32_t HttpSession::Random() {
  uint32_t value = 0;
  // Without entropy an address that is always the same discloses as little.
  if (getrandom(&value, sizeof(value), GRND_NONBLOCK) != sizeof(value)) return 0;
  return value;
}

void HttpSession::OnRequest(const RequestHead& request) {
  active_ = true;
  standing_.operation = FactsOf(request, record_.client).operation;
  record_.result = {};
  record_.error = 0;
  record_.path_from_client = record_.path_from_upstream = relay::DataPath::kNone;
  reported_from_client_ = reported_from_upstream_ = 0;
  if (service_->context().log == nullptr) return;
  record_.started_wall_nanos = sys::Clock::System().WallNanos();
  NoteRequest(request, record_);
}

void HttpSession::Submit(accounting::ResultCode result, int error) {
  active_ = false;
  const std::shared_ptr<accounting::LogChannel>& log = service_->context().log;
  if (log == nullptr || silent_) return;
  accounting::TrafficRecord record = record_.Clone();
  record.result = result;
  record.error = error;
  record.duration_nanos = sys::Clock::System().WallNanos() - record.started_wall_nanos;
  record.bytes_from_client = request_bytes() - reported_from_client_;
  record.bytes_from_upstream = response_bytes() - reported_from_upstream_;
  if (record.path_from_client == relay::DataPath::kNone) record.path_from_client = relay::DataPath::kCopy;
  if (record.path_from_upstream == relay::DataPath::kNone && record.bytes_from_upstream > 0) {
    record.path_from_upstream = relay::DataPath::kCopy;
  }
  log->Submit(std::move(record));
}

std::string HttpSession::OnOver(Outcome outcome, const char* what, int error) {
  Answer answer;
  answer.head_only = method() == Method::kHead;
  switch (outcome) {
    case Outcome::kWhole:
      Submit({}, 0);
      return {};
    case Outcome::kAgain:
      active_ = false;
      return {};
    case Outcome::kCut:
      Submit(result::kAnswerCut, error);
      return {};
    case Outcome::kClientGone:
      Submit(result::kRequestCut, error);
      return {};
    case Outcome::kNoAnswer:
      answer.status = 502;
      answer.error = "connection_terminated";
      Submit(result::kNoAnswer, error);
      break;
    case Outcome::kTimeout:
      answer.status = 504;
      answer.error = "connection_read_timeout";
      Submit(result::kAnswerTimeout, error);
      break;
    case Outcome::kClientSlow:
      answer.status = 408;
      Submit(result::kRequestTimeout, error);
      break;
    case Outcome::kBadAnswer:
      answer.status = 502;
      answer.error = "http_protocol_error";
      Submit(result::kBadAnswer, error);
      break;
    case Outcome::kBadRequest:
      answer.status = 400;
      answer.error = "http_request_error";
      Submit(result::kBadRequest, error);
      break;
  }
  answer.text = absl::StrCat(Whereabouts(record_), ": ", what, ".");
  return ToBytes(answer);
}

void HttpSession::OnConnected(int upstream_fd, const sys::SocketAddress& upstream) {
  UseUpstream(upstream);
  record_.error = 0;  // of candidates that failed before
  if (service_->context().log_addresses) record_.Addresses().external = sys::SocketAddress::OfSocket(upstream_fd);
}

void HttpSession::OnConnectFailed(const sys::SocketAddress& upstream, int error) {
  record_.upstream = upstream;
  record_.error = error;
}

std::string HttpSession::AnswerNotConnected(const relay::EndReason& reason) {
  if (!refusal_.empty()) return refusal_;
  Answer answer = AnswerToConnectFailure(reason, Whereabouts(record_));
  answer.head_only = method() == Method::kHead;
  return ToBytes(answer);
}

void HttpSession::OnProgress(const relay::SessionReport&) {
  if (!active_ || silent_ || service_->context().log == nullptr) return;
  accounting::TrafficRecord interim = record_.Clone();
  interim.interim = true;
  interim.duration_nanos = sys::Clock::System().WallNanos() - interim.started_wall_nanos;
  interim.bytes_from_client = request_bytes() - reported_from_client_;
  interim.bytes_from_upstream = response_bytes() - reported_from_upstream_;
  reported_from_client_ = request_bytes();
  reported_from_upstream_ = response_bytes();
  service_->context().log->Submit(std::move(interim));
}

void HttpSession::OnEnd(const relay::SessionReport& report) {
  if (!active_) return;
  if (!refusal_.empty()) return Submit(record_.result, record_.error);
  record_.side = report.reason.side;
  Submit(accounting::ResultOf(report.reason, record_.phase), report.reason.error);
}

relay::Framer::Next HttpSession::OnRaw(int direction, int64_t bytes) {
  AddPath(direction == kUp ? record_.path_from_client : record_.path_from_upstream, relay::DataPath::kSplice);
  return KeepaliveFramer::OnRaw(direction, bytes);
}

bool HttpSession::UpstreamIsReusable() const {
  return service_->options().http.keep_upstreams && KeepaliveFramer::UpstreamIsReusable();
}

void HttpSession::OnUpstreamFree(relay::Worker* worker, sys::UniqueFd upstream) {
  if (worker != nullptr) service_->PutIdle(*worker, route_, {std::move(upstream), record_.upstream});
}

void HttpSession::OnReturned(relay::Worker* worker, relay::Returned returned) {
  if (worker == nullptr) return;
  ReturningClient client{std::move(returned.client),    record_.client,
                         std::move(returned.admission), TakeHeld(),
                         wants_fresh_upstream(),        std::move(returned.transform)};
  ServeAgain(*worker, service_, std::move(client));
}

}  // namespace sluice::http
