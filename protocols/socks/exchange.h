#ifndef SLUICE_PROTOCOLS_SOCKS_EXCHANGE_H_
#define SLUICE_PROTOCOLS_SOCKS_EXCHANGE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "protocols/access/operation.h"
#include "protocols/accounting/result_code.h"
#include "protocols/accounting/traffic_record.h"
#include "protocols/auth/hearing.h"
#include "protocols/auth/judgement.h"
#include "protocols/service/exchange_observer.h"
#include "protocols/service/service_context.h"
#include "protocols/socks/reply.h"
#include "protocols/socks/wire.h"
#include "relay/session_observer.h"
#include "sys/net/socket_address.h"

namespace sluice::socks {

// One client of `socks`: its record, and what it is told when the worker has connected, or has not.
//
// A client that is refused gets a session all the same, one that has nowhere to connect to: the engine then gives it
// the reply, shuts down, and waits for it to have read (a plain close() would turn what it still sends into a reset,
// which destroys the reply).
//
// Made when the client has spoken, moved into the Handoff. Worker only, but before the hand-off the handshake thread's.
class Exchange final : public relay::SessionObserver {
 public:
  Exchange(std::shared_ptr<const service::ServiceContext> context, const sys::SocketAddress& client);

  accounting::TrafficRecord& record() { return base_.record(); }
  const service::ServiceContext& context() const { return base_.context(); }

  // Fills in what the record has of a request: as far as the handshake has come.
  void Note(const Request& request);

  void NoteJudgement(const auth::Judgement& judgement, const auth::Hearing* hearing, access::Operation operation,
                     uint16_t port) {
    base_.Note(judgement, hearing, operation, port);
  }
  const service::ExchangeObserver& base() const { return base_; }
  service::ExchangeObserver& base() { return base_; }

  // Ends the exchange without a word to the client, which is closed by whoever owns it.
  void Refuse(accounting::ResultCode result, accounting::Phase phase, int error);

  // The session about to begin gives the client `answer` and ends; the record has this result.
  void RefuseInSession(std::string answer, accounting::ResultCode result, accounting::Phase phase, int error);

  // BIND, after its first reply: what the client is told next is who has come, not where we are.
  void ExpectPeer() { tell_peer_ = true; }

  // The handshake is over: the session's time is added to it.
  void StopHandshakeClock();

  void OnConnected(int upstream_fd, const sys::SocketAddress& upstream) override;
  void OnConnectFailed(const sys::SocketAddress& upstream, int error) override;
  std::string AnswerConnected(int upstream_fd) override;
  std::string AnswerNotConnected(const relay::EndReason& reason) override;
  void OnProgress(const relay::SessionReport& so_far) override { base_.OnProgress(so_far); }
  void OnEnd(const relay::SessionReport& report) override;
  relay::Review OnReview() override { return refusal_ != nullptr ? relay::Review::kKept : base_.OnReview(); }

 private:
  struct Refusal {
    std::string answer;
    accounting::ResultCode result;
    accounting::Phase phase;
    int error;
  };

  service::ExchangeObserver base_;
  std::unique_ptr<Refusal> refusal_;
  uint8_t version_ = 0;
  bool tell_peer_ = false;
};

}  // namespace sluice::socks

#endif  // SLUICE_PROTOCOLS_SOCKS_EXCHANGE_H_
