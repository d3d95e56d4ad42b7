#include "protocols/http/tunnel.h"

#include "absl/strings/str_cat.h"

namespace sluice::http {

void NoteRequest(const RequestHead& request, accounting::TrafficRecord& record) {
  record.host = request.authority.host;
  record.text = absl::StrCat(request.method_text, " ", RedactedTarget(request), " HTTP/1.", request.minor_version);
}

std::string Whereabouts(const accounting::TrafficRecord& record) {
  if (record.upstream.family() == sys::AddressFamily::kNone) return std::string(record.host.view());
  const std::string address = record.upstream.ToString();
  if (record.host.empty() || record.upstream.IpText() == record.host.view()) return address;
  return absl::StrCat(record.host.view(), " (", address, ")");
}

void Tunnel::RefuseWith(const Answer& answer, accounting::ResultCode result, accounting::Phase phase, int error) {
  refusal_ = std::make_unique<Refusal>(Refusal{ToBytes(answer), result, phase, error});
}

std::string Tunnel::AnswerConnected(int) { return "HTTP/1.1 200 Connection established\r\n\r\n"; }

std::string Tunnel::AnswerNotConnected(const relay::EndReason& reason) {
  if (refusal_ != nullptr) return refusal_->answer;
  return ToBytes(AnswerToConnectFailure(reason, Whereabouts(record())));
}

void Tunnel::OnEnd(const relay::SessionReport& report) {
  if (refusal_ == nullptr) return base_.OnEnd(report);
  base_.Refuse(refusal_->result, refusal_->phase, refusal_->error);
}

}  // namespace sluice::http
