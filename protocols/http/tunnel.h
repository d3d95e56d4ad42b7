#ifndef SLUICE_PROTOCOLS_HTTP_TUNNEL_H_
#define SLUICE_PROTOCOLS_HTTP_TUNNEL_H_

#include <memory>
#include <string>
#include <utility>

#include "protocols/http/exchange.h"
#include "protocols/http/request_head.h"
#include "protocols/service/exchange_observer.h"
#include "protocols/service/service_context.h"

namespace sluice::http {

// A client of CONNECT: told 200 once the worker has connected, or why not, and a plain relay from then on. Also any
// client that is refused before it has a session.
//
// Worker only, but before the hand-off the handshake thread's.
class Tunnel final : public Exchange {
 public:
  Tunnel(std::shared_ptr<const service::ServiceContext> context, const sys::SocketAddress& client)
      : base_(std::move(context), client) {}

  accounting::TrafficRecord& record() override { return base_.record(); }
  void Note(const auth::Judgement& judgement, const auth::Hearing* hearing, access::Operation operation,
            uint16_t port) override {
    base_.Note(judgement, hearing, operation, port);
  }
  void RefuseWith(const Answer& answer, accounting::ResultCode result, accounting::Phase phase, int error) override;
  // After RefuseWith: the client has been given all of the answer and needs no session, or all but these bytes.
  void WasTold() { base_.Refuse(refusal_->result, refusal_->phase, refusal_->error); }
  void StillSay(std::string rest) { refusal_->answer = std::move(rest); }
  // Ends it without a word: the client is closed by whoever owns it.
  void Drop(accounting::ResultCode result, int error) { base_.Refuse(result, accounting::Phase::kHandshake, error); }

  void OnConnected(int upstream_fd, const sys::SocketAddress& upstream) override {
    base_.OnConnected(upstream_fd, upstream);
  }
  void OnConnectFailed(const sys::SocketAddress& upstream, int error) override {
    base_.OnConnectFailed(upstream, error);
  }
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
};

// A client that is given its last bytes, of an exchange whose record was made, and the time to read them.
//
// Worker only, but before the hand-off the handshake thread's.
class LastWord final : public relay::SessionObserver {
 public:
  LastWord(std::shared_ptr<const service::ServiceContext> context, std::string bytes)
      : context_(std::move(context)), bytes_(std::move(bytes)) {}

  void OnConnected(int, const sys::SocketAddress&) override {}
  void OnConnectFailed(const sys::SocketAddress&, int) override {}
  std::string AnswerNotConnected(const relay::EndReason&) override { return std::move(bytes_); }
  void OnProgress(const relay::SessionReport&) override {}
  void OnEnd(const relay::SessionReport&) override {}

 private:
  const std::shared_ptr<const service::ServiceContext> context_;  // keeps the options alive
  std::string bytes_;
};

// Fills in what a record has of a request: host, request line without userinfo.
void NoteRequest(const RequestHead& request, accounting::TrafficRecord& record);

// "name:80 (127.0.0.1:80)": for answers.
std::string Whereabouts(const accounting::TrafficRecord& record);

}  // namespace sluice::http

#endif  // SLUICE_PROTOCOLS_HTTP_TUNNEL_H_
