#ifndef SLUICE_PROTOCOLS_SERVICE_EXCHANGE_OBSERVER_H_
#define SLUICE_PROTOCOLS_SERVICE_EXCHANGE_OBSERVER_H_

#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "protocols/access/operation.h"
#include "protocols/access/request_facts.h"
#include "protocols/accounting/traffic_record.h"
#include "protocols/auth/gate.h"
#include "protocols/auth/hearing.h"
#include "protocols/auth/judgement.h"
#include "protocols/auth/review.h"
#include "protocols/service/service_context.h"
#include "relay/session_observer.h"

namespace sluice::service {

// Keeps the record of one exchange while its session runs, and gives it to the access log at the end. It also keeps the
// service's context, and so everything the session refers to, alive.
//
// Made when the client is admitted; moved into the Handoff. An exchange that never gets that far ends with Refuse().
//
// Held by each idle connection: 240 bytes. Worker only, but before the hand-off the handshake thread's.
class ExchangeObserver final : public relay::SessionObserver {
 public:
  ExchangeObserver(std::shared_ptr<const ServiceContext> context, const sys::SocketAddress& client);

  accounting::TrafficRecord& record() { return record_; }
  const ServiceContext& context() const { return *context_; }

  // What the gate has said of the request: the name that counts, whether there are records (`nolog`), and what a reload
  // goes by. `hearing` may be null: the service is open. `port`: the target's.
  void Note(const auth::Judgement& judgement, const auth::Hearing* hearing, access::Operation operation, uint16_t port);
  // Whether the client may reach another target, too: a datagram's. Without asking anybody, by what counts now.
  bool MayReach(const sys::SocketAddress& to, absl::string_view name) const;
  // OnReview() for a client whose targets are judged one by one.
  relay::Review ReviewClient();

  // Ends the exchange before there was a session. `error` is an errno or 0. The client is closed by whoever owns it.
  void Refuse(accounting::ResultCode result, accounting::Phase phase, int error);

  // OnEnd() with this result in place of the one that the report tells, unless it is ok().
  void EndAs(accounting::ResultCode result, const relay::SessionReport& report);

  void OnConnected(int upstream_fd, const sys::SocketAddress& upstream) override;
  void OnConnectFailed(const sys::SocketAddress& upstream, int error) override;
  void OnProgress(const relay::SessionReport& so_far) override;
  void OnEnd(const relay::SessionReport& report) override;
  relay::Review OnReview() override;

 private:
  const auth::Gate& JudgedBy() const { return gate_ != nullptr ? *gate_ : *context_->gate; }
  relay::Review Review(access::RequestFacts facts);
  void Submit(accounting::TrafficRecord record) const;

  // What the last `logdump` record said.
  struct Reported {
    int64_t from_client = 0;
    int64_t from_upstream = 0;
    sys::MonotonicNanos at = 0;
  };

  const std::shared_ptr<const ServiceContext> context_;
  accounting::TrafficRecord record_;
  std::unique_ptr<Reported> reported_;      // none before the first
  std::shared_ptr<const auth::Gate> gate_;  // that has let it in; null: the context's
  auth::Standing standing_;
  bool silent_ = false;
};

}  // namespace sluice::service

#endif  // SLUICE_PROTOCOLS_SERVICE_EXCHANGE_OBSERVER_H_
