#include "protocols/socks/exchange.h"

#include <cerrno>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "protocols/service/snapshot.h"
#include "sys/thread/clock.h"

namespace sluice::socks {
namespace {

// "CONNECT www.example.net:443"
std::string TextOf(const Request& request) {
  std::string destination;
  if (request.host.empty()) {
    destination = request.address.ToString();
  } else if (absl::StrContains(request.host, ':') && request.host.front() != '[') {
    destination = absl::StrCat("[", request.host, "]:", request.port);
  } else {
    destination = absl::StrCat(request.host, ":", request.port);
  }
  return absl::StrCat(CommandName(request.command), " ", destination);
}

}  // namespace

Exchange::Exchange(std::shared_ptr<const service::ServiceContext> context, const sys::SocketAddress& client)
    : base_(std::move(context), client) {}

void Exchange::Note(const Request& request) {
  accounting::TrafficRecord& record = base_.record();
  version_ = request.version;
  if (version_ == 4) record.service = "SOCK4";
  if (version_ == 5) record.service = "SOCK5";
  record.user = request.user;
  record.host = request.host;
  record.upstream = request.address;
  if (!request.host.empty() || request.address.is_ip()) record.text = TextOf(request);
}

void Exchange::Refuse(accounting::ResultCode result, accounting::Phase phase, int error) {
  base_.Refuse(result, phase, error);
}

void Exchange::RefuseInSession(std::string answer, accounting::ResultCode result, accounting::Phase phase, int error) {
  refusal_ = std::make_unique<Refusal>(Refusal{std::move(answer), result, phase, error});
}

void Exchange::StopHandshakeClock() {
  accounting::TrafficRecord& record = base_.record();
  record.duration_nanos = sys::Clock::System().WallNanos() - record.started_wall_nanos;
}

void Exchange::OnConnected(int upstream_fd, const sys::SocketAddress& upstream) {
  base_.OnConnected(upstream_fd, upstream);
}

void Exchange::OnConnectFailed(const sys::SocketAddress& upstream, int error) {
  base_.OnConnectFailed(upstream, error);
}

std::string Exchange::AnswerConnected(int upstream_fd) {
  if (tell_peer_) return EncodeReply(version_, ReplyCode::kSucceeded, sys::SocketAddress::OfPeer(upstream_fd));
  sys::SocketAddress bound = sys::SocketAddress::OfSocket(upstream_fd);
  if (const auto& told = context().options->socks.told_external; told.has_value()) {
    const uint16_t port = bound.port();
    bound = *told;
    bound.set_port(port);
  }
  return EncodeReply(version_, ReplyCode::kSucceeded, bound);
}

std::string Exchange::AnswerNotConnected(const relay::EndReason& reason) {
  if (refusal_ != nullptr) return refusal_->answer;
  if (reason.code == relay::EndCode::kConnectTimeout) return EncodeReply(version_, ReplyForErrno(ETIMEDOUT));
  return EncodeReply(version_, ReplyForErrno(reason.error));
}

void Exchange::OnEnd(const relay::SessionReport& report) {
  if (refusal_ == nullptr) return base_.OnEnd(report);
  base_.Refuse(refusal_->result, refusal_->phase, refusal_->error);
}

}  // namespace sluice::socks
