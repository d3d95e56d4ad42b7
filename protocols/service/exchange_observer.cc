#include "protocols/service/exchange_observer.h"

#include <utility>

#include "protocols/service/judged_lookup.h"

namespace sluice::service {

namespace {

// Literals: a record outlives the configuration that it came from.
const char* LogNameOf(ServiceType type) {
  switch (type) {
    case ServiceType::kTcpPortMap:
      return "TCPPM";
    case ServiceType::kSocks:
      return "SOCKS";
    case ServiceType::kUdpPortMap:
      return "UDPPM";
    case ServiceType::kHttpProxy:
      return "PROXY";
    case ServiceType::kTlsSniff:
      return "TLSPR";
    case ServiceType::kAuto:
      return "AUTO";
  }
  return "-";
}

}  // namespace

ExchangeObserver::ExchangeObserver(std::shared_ptr<const ServiceContext> context, const sys::SocketAddress& client)
    : context_(std::move(context)) {
  record_.client = client;
  record_.started_wall_nanos = sys::Clock::System().WallNanos();
  record_.service = LogNameOf(context_->speaks);
  record_.service_port = context_->port;
}

void ExchangeObserver::Submit(accounting::TrafficRecord record) const {
  if (context_->log != nullptr && !silent_) context_->log->Submit(std::move(record));
}

void ExchangeObserver::Note(const auth::Judgement& judgement, const auth::Hearing* hearing, access::Operation operation,
                            uint16_t port) {
  if (hearing != nullptr && hearing->shared_gate() != context_->gate) gate_ = hearing->shared_gate();
  standing_ = {port, operation, judgement.identity.proof};
  silent_ = !judgement.verdict.log();
  if (!judgement.identity.user.empty()) record_.user = judgement.identity.user;
}

bool ExchangeObserver::MayReach(const sys::SocketAddress& to, absl::string_view name) const {
  const auth::Gate& before = JudgedBy();
  const std::shared_ptr<const auth::Gate> now = context_->GateNow();
  if (now->open()) return true;
  access::RequestFacts facts;
  facts.user = record_.user.view();
  facts.client = record_.client;
  facts.host = name;
  facts.target = to;
  facts.port = to.port();
  facts.operation = standing_.operation;
  return auth::JudgeKnown(before, *now, standing_.proof, facts, auth::Stage::kFinal, record_.started_wall_nanos)
      .allowed();
}

relay::Review ExchangeObserver::OnReview() { return Review(FactsOf(record_, standing_.operation, standing_.port)); }

relay::Review ExchangeObserver::ReviewClient() {
  access::RequestFacts facts;
  facts.client = record_.client;
  facts.operation = standing_.operation;
  return Review(std::move(facts));
}

relay::Review ExchangeObserver::Review(access::RequestFacts facts) {
  const auth::Gate& before = JudgedBy();
  if (context_->current_gate->Is(before)) return relay::Review::kKept;
  std::shared_ptr<const auth::Gate> now = context_->current_gate->Get();
  facts.user = record_.user.view();
  const relay::Review review = auth::ReviewSession(before, *now, standing_.proof, facts, record_.started_wall_nanos);
  gate_ = std::move(now);
  return review;
}

void ExchangeObserver::Refuse(accounting::ResultCode result, accounting::Phase phase, int error) {
  record_.result = result;
  record_.phase = phase;
  record_.error = error;
  record_.duration_nanos = sys::Clock::System().WallNanos() - record_.started_wall_nanos;
  Submit(std::move(record_));
}

void ExchangeObserver::OnConnected(int upstream_fd, const sys::SocketAddress& upstream) {
  record_.upstream = upstream;
  record_.error = 0;  // of candidates that failed before
  if (context_->log_addresses) record_.Addresses().external = sys::SocketAddress::OfSocket(upstream_fd);
}

void ExchangeObserver::OnConnectFailed(const sys::SocketAddress& upstream, int error) {
  record_.upstream = upstream;
  record_.error = error;
}

void ExchangeObserver::OnProgress(const relay::SessionReport& so_far) {
  if (reported_ == nullptr) {
    reported_ = std::make_unique<Reported>();
    reported_->at = so_far.started;
  }
  accounting::TrafficRecord interim = record_.Clone();
  interim.TakeReport(so_far);
  interim.interim = true;
  interim.bytes_from_client -= reported_->from_client;
  interim.bytes_from_upstream -= reported_->from_upstream;
  interim.duration_nanos = so_far.ended - reported_->at;
  *reported_ = {so_far.from_client.bytes, so_far.from_upstream.bytes, so_far.ended};
  Submit(std::move(interim));
}

void ExchangeObserver::OnEnd(const relay::SessionReport& report) { EndAs({}, report); }

void ExchangeObserver::EndAs(accounting::ResultCode result, const relay::SessionReport& report) {
  record_.TakeReport(report);
  if (!result.ok()) record_.result = result;
  if (reported_ != nullptr) {
    record_.bytes_from_client -= reported_->from_client;
    record_.bytes_from_upstream -= reported_->from_upstream;
  }
  Submit(std::move(record_));
}

}  // namespace sluice::service
