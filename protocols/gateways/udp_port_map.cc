#include "protocols/gateways/udp_port_map.h"

#include <atomic>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "protocols/access/operation.h"
#include "protocols/access/request_facts.h"
#include "protocols/accounting/result_code.h"
#include "protocols/auth/hearing.h"
#include "protocols/auth/judgement.h"
#include "protocols/service/exchange_observer.h"
#include "protocols/service/handshake_pool.h"
#include "protocols/service/judged_lookup.h"
#include "protocols/service/snapshot.h"
#include "relay/session_observer.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::gateways {
namespace {

// A client that a thread has to judge, or whose target's name it asks for. Written by that thread, then read by the
// worker, which is told in between.
struct Inquiry {
  std::unique_ptr<auth::Hearing> hearing;
  service::JudgedLookup judged;
  std::atomic<bool> over{false};
};

class UdpExchange final : public relay::MappedObserver {
 public:
  UdpExchange(std::shared_ptr<const service::ServiceContext> context, const sys::SocketAddress& client)
      : base_(std::move(context), client) {}

  service::ExchangeObserver& base() { return base_; }

  // What a thread is finding out about this client; the worker reads it once it is told.
  void Await(std::shared_ptr<const Inquiry> inquiry) { inquiry_ = std::move(inquiry); }

  void OnConnected(int upstream_fd, const sys::SocketAddress& target) override {
    TakeAnswer();
    base_.OnConnected(upstream_fd, target);
  }

  void OnEnd(const relay::AssociationReport& report) override {
    relay::SessionReport session;
    session.reason = report.reason;
    session.from_client.bytes = report.bytes_from_client;
    session.from_upstream.bytes = report.bytes_from_upstream;
    session.started = report.started;
    session.ended = report.ended;
    TakeAnswer();
    if (!result_.ok()) return base_.Refuse(result_, accounting::Phase::kHandshake, 0);
    base_.OnEnd(session);
  }

  relay::Review OnReview() override { return base_.OnReview(); }

 private:
  void TakeAnswer();

  service::ExchangeObserver base_;
  std::shared_ptr<const Inquiry> inquiry_;
  accounting::ResultCode result_;  // of a client that is not let in
};

void UdpExchange::TakeAnswer() {
  const std::shared_ptr<const Inquiry> inquiry = std::move(inquiry_);
  // Not over: the session ends while the thread is still at it.
  if (inquiry == nullptr || !inquiry->over.load(std::memory_order_acquire)) return;
  const auth::Judgement& judgement = inquiry->judged.judgement;
  base_.Note(judgement, inquiry->hearing.get(), access::Operation::kUdpAssociate, base_.context().options->target.port);
  if (!judgement.allowed()) result_ = judgement.result;
}

access::RequestFacts FactsFor(const sys::SocketAddress& client, const service::ServiceOptions& options) {
  access::RequestFacts facts;
  facts.client = client;
  facts.host = options.target.host_name;
  facts.target = options.target.address;
  facts.port = options.target.port;
  facts.operation = access::Operation::kUdpAssociate;
  return facts;
}

void JudgeOnThread(const std::shared_ptr<const service::ServiceContext>& context, relay::Worker& worker,
                   const sys::SocketAddress& client, relay::DatagramTicket ticket, std::shared_ptr<Inquiry> inquiry) {
  const service::ServiceOptions& options = *context->options;
  service::HandshakePool::Task task;
  if (!options.target.host_name.empty()) {
    task.destination = absl::StrCat(options.target.host_name, ":", options.target.port);
  }
  task.client_address = client.IpText();
  task.deadline = sys::Clock::System().Now() + options.timeouts.dns;
  auto tell = [&worker, ticket](const sys::SocketAddress& target) {
    worker.Run([ticket, target](relay::Worker& here) { here.mapped_ports().Resolved(ticket, target); });
  };
  task.run = [context, inquiry, client, tell] {
    inquiry->judged = service::JudgeAndLookUp(*context, inquiry->hearing.get(), FactsFor(client, *context->options));
    inquiry->over.store(true, std::memory_order_release);
    const service::JudgedLookup& judged = inquiry->judged;
    const bool reachable = judged.judgement.allowed() && judged.result.ok();
    tell(reachable ? judged.result.addresses.front() : sys::SocketAddress());
  };
  task.shed = [tell] { tell({}); };
  context->handshakes->Submit(std::move(task));
}

}  // namespace

std::optional<relay::MappedPortHandler::Client> UdpPortMap::OnClient(relay::Worker& worker,
                                                                     const sys::SocketAddress& client,
                                                                     relay::DatagramTicket ticket) {
  const service::ServiceOptions& options = *context_->options;
  auto exchange = std::make_unique<UdpExchange>(context_, client);
  service::ExchangeObserver& base = exchange->base();
  if (context_->leads_to_itself) {
    base.Refuse(accounting::result::kLoop, accounting::Phase::kConnect, ELOOP);
    return std::nullopt;
  }
  base.record().host = options.target.host_name;
  std::unique_ptr<auth::Hearing> hearing = service::HearingFor(*context_, {}, base.record().started_wall_nanos);
  auto judged = service::TryJudgeAndLookUp(*context_, hearing.get(), FactsFor(client, options));
  Client result;
  if (judged.has_value()) {
    base.Note(judged->judgement, hearing.get(), access::Operation::kUdpAssociate, options.target.port);
    if (!judged->judgement.allowed()) {
      base.Refuse(judged->judgement.result, accounting::Phase::kHandshake, 0);
      return std::nullopt;
    }
    if (!judged->result.ok()) {
      base.Refuse(accounting::result::kNameNotResolved, accounting::Phase::kResolve, 0);
      return std::nullopt;
    }
    result.target = judged->result.addresses.front();
  } else {
    auto inquiry = std::make_shared<Inquiry>();
    inquiry->hearing = std::move(hearing);
    exchange->Await(inquiry);
    JudgeOnThread(context_, worker, client, ticket, std::move(inquiry));
  }
  result.observer = std::move(exchange);
  return result;
}

}  // namespace sluice::gateways
