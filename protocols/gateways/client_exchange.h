#ifndef SLUICE_PROTOCOLS_GATEWAYS_CLIENT_EXCHANGE_H_
#define SLUICE_PROTOCOLS_GATEWAYS_CLIENT_EXCHANGE_H_

#include <memory>
#include <string>
#include <utility>

#include "protocols/access/operation.h"
#include "protocols/accounting/result_code.h"
#include "protocols/accounting/traffic_record.h"
#include "protocols/auth/hearing.h"
#include "protocols/auth/judgement.h"
#include "protocols/service/exchange_observer.h"
#include "protocols/service/service_context.h"
#include "relay/framer.h"
#include "relay/relay_options.h"
#include "relay/session_observer.h"
#include "sys/net/socket_address.h"

namespace sluice::gateways {

// One client of a gateway that looks into what it relays: its record, what it is told when it gets no connection, and
// who watches its first bytes.
//
// A client that is refused gets a session all the same, one that has nowhere to connect to: the engine then gives it
// the last word, shuts down, and waits for it to have read (a plain close() would turn what it still sends into a
// reset, which destroys that word).
//
// Made when the client is admitted, moved into the Handoff. Worker only, but before the hand-off the handshake
// thread's.
class ClientExchange final : public relay::SessionObserver {
 public:
  // Looks at the first bytes of a session that is a plain relay afterwards.
  class Watch : public relay::Framer {
   public:
    // Of the session while it is watched.
    virtual const relay::RelayOptions* options() const = 0;
    // What the record says in place of how the session ended; ok() when it says that.
    virtual accounting::ResultCode verdict() const = 0;
  };

  ClientExchange(std::shared_ptr<const service::ServiceContext> context, const sys::SocketAddress& client)
      : base_(std::move(context), client) {}

  accounting::TrafficRecord& record() { return base_.record(); }
  const service::ServiceContext& context() const { return base_.context(); }

  // What a client is told for which connecting fails; nothing unless it was said.
  void set_not_connected_answer(std::string answer) { not_connected_ = std::move(answer); }
  void set_watch(std::unique_ptr<Watch> watch) { watch_ = std::move(watch); }
  const Watch* watch() const { return watch_.get(); }

  void Note(const auth::Judgement& judgement, const auth::Hearing* hearing, access::Operation operation,
            uint16_t port) {
    base_.Note(judgement, hearing, operation, port);
  }
  // Ends the exchange without a word to the client, which is closed by whoever owns it.
  void Refuse(accounting::ResultCode result, accounting::Phase phase, int error) { base_.Refuse(result, phase, error); }
  // The session about to begin gives the client `answer` and ends; the record has this result.
  void RefuseInSession(std::string answer, accounting::ResultCode result, accounting::Phase phase, int error);
  // The time until now is the handshake's; the session's is added to it.
  void StopHandshakeClock();

  void OnConnected(int upstream_fd, const sys::SocketAddress& upstream) override {
    base_.OnConnected(upstream_fd, upstream);
  }
  void OnConnectFailed(const sys::SocketAddress& upstream, int error) override {
    base_.OnConnectFailed(upstream, error);
  }
  std::string AnswerNotConnected(const relay::EndReason& reason) override;
  relay::Framer* framer() override { return watch_.get(); }
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
  std::unique_ptr<Watch> watch_;
  std::string not_connected_;
};

}  // namespace sluice::gateways

#endif  // SLUICE_PROTOCOLS_GATEWAYS_CLIENT_EXCHANGE_H_
