#ifndef SLUICE_PROTOCOLS_HTTP_HTTP_SESSION_H_
#define SLUICE_PROTOCOLS_HTTP_HTTP_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "protocols/access/operation.h"
#include "protocols/access/rule.h"
#include "protocols/accounting/traffic_record.h"
#include "protocols/auth/gate.h"
#include "protocols/auth/hearing.h"
#include "protocols/auth/judgement.h"
#include "protocols/auth/review.h"
#include "protocols/http/exchange.h"
#include "protocols/http/http_service.h"
#include "protocols/http/keepalive_framer.h"
#include "relay/framer.h"
#include "sys/net/socket_address.h"

namespace sluice::http {

// A client on a worker, one exchange after the other over one upstream: the framing is KeepaliveFramer's; here are the
// records (one an exchange), the answers that are the proxy's own, and what becomes of client and upstream when they
// part.
//
// Worker only, but before the hand-off the handshake thread's.
class HttpSession final : public Exchange, public KeepaliveFramer {
 public:
  HttpSession(std::shared_ptr<const HttpService> service, const sys::SocketAddress& client, std::string route);

  // The upstream is one that is connected already.
  void UseUpstream(const sys::SocketAddress& upstream);

  accounting::TrafficRecord& record() override { return record_; }
  void Note(const auth::Judgement& judgement, const auth::Hearing* hearing, access::Operation operation,
            uint16_t port) override;
  // What the client says of itself, as it came: a later request with the same is the same client's.
  void NoteAuthorization(absl::string_view value) { authorization_ = std::string(value); }
  void RefuseWith(const Answer& answer, accounting::ResultCode result, accounting::Phase phase, int error) override;

  // relay::SessionObserver.
  using KeepaliveFramer::OnEnd;
  void OnConnected(int upstream_fd, const sys::SocketAddress& upstream) override;
  void OnConnectFailed(const sys::SocketAddress& upstream, int error) override;
  std::string AnswerNotConnected(const relay::EndReason& reason) override;
  relay::Framer* framer() override { return this; }
  void OnProgress(const relay::SessionReport& so_far) override;
  void OnEnd(const relay::SessionReport& report) override;
  relay::Review OnReview() override;

  // relay::Framer.
  Next OnRaw(int direction, int64_t bytes) override;
  int64_t QuietNanos() const override { return service_->options().timeouts.string_long; }
  int64_t WaitNanos() const override { return AwaitsContinue() ? service_->options().timeouts.byte_long : 0; }
  bool UpstreamIsReusable() const override;
  const relay::RelayOptions* TunnelOptions() const override { return &service_->options().relay; }
  void OnUpstreamFree(relay::Worker* worker, sys::UniqueFd upstream) override;
  void OnReturned(relay::Worker* worker, relay::Returned returned) override;

 private:
  bool Serves(const RequestHead& request) const override;
  bool IsJudgedAlike(const RequestHead& request) const;
  const sys::SocketAddress& ClientAddress() const override { return record_.client; }
  uint32_t Random() override;
  void OnRequest(const RequestHead& request) override;
  std::string OnOver(Outcome outcome, const char* what, int error) override;
  void Submit(accounting::ResultCode result, int error);

  const std::shared_ptr<const HttpService> service_;
  const std::string route_;
  accounting::TrafficRecord record_;  // of the exchange that runs
  std::string refusal_;               // RefuseWith: the answer; its result lies in the record
  int64_t reported_from_client_ = 0;  // what interim records (`logdump`) have said
  int64_t reported_from_upstream_ = 0;
  // Who has let the client in (null: the context's gate), and by which rule: later requests are served here only if
  // that would be the same.
  std::shared_ptr<const auth::Gate> gate_;
  const access::Rule* rule_ = nullptr;
  std::string authorization_;
  auth::Standing standing_;
  bool silent_ = false;       // `nolog`
  bool is_reviewed_ = false;  // a reload has come since: the next request is judged anew
  bool active_ = false;       // an exchange runs; its record is still to be given
};

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_HTTP_SESSION_H_
