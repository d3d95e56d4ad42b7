#include "protocols/gateways/client_exchange.h"

#include "sys/thread/clock.h"

namespace sluice::gateways {

void ClientExchange::RefuseInSession(std::string answer, accounting::ResultCode result, accounting::Phase phase,
                                     int error) {
  watch_.reset();  // there is nothing to be watched
  refusal_ = std::make_unique<Refusal>(Refusal{std::move(answer), result, phase, error});
}

void ClientExchange::StopHandshakeClock() {
  accounting::TrafficRecord& record = base_.record();
  record.duration_nanos = sys::Clock::System().WallNanos() - record.started_wall_nanos;
}

std::string ClientExchange::AnswerNotConnected(const relay::EndReason&) {
  return refusal_ != nullptr ? refusal_->answer : not_connected_;
}

void ClientExchange::OnEnd(const relay::SessionReport& report) {
  if (refusal_ != nullptr) return base_.Refuse(refusal_->result, refusal_->phase, refusal_->error);
  if (watch_ != nullptr && !watch_->verdict().ok()) return base_.EndAs(watch_->verdict(), report);
  base_.OnEnd(report);
}

}  // namespace sluice::gateways
