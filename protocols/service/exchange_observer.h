#ifndef SLUICE_PROTOCOLS_SERVICE_EXCHANGE_OBSERVER_H_
#define SLUICE_PROTOCOLS_SERVICE_EXCHANGE_OBSERVER_H_

#include <cstdint>
#include <memory>

#include "protocols/accounting/traffic_record.h"
#include "protocols/service/service_context.h"
#include "relay/session_observer.h"

namespace sluice::service {

// Keeps the record of one exchange while its session runs, and gives it to the access log at the end. It also keeps the
// service's context, and so everything the session refers to, alive.
//
// Made when the client is admitted; moved into the Handoff. An exchange that never gets that far ends with Refuse().
//
// Held by each idle connection: 208 bytes. Worker only, but before the hand-off the handshake thread's.
class ExchangeObserver final : public relay::SessionObserver {
 public:
  ExchangeObserver(std::shared_ptr<const ServiceContext> context, const sys::SocketAddress& client);

  accounting::TrafficRecord& record() { return record_; }
  const ServiceContext& context() const { return *context_; }

  // Ends the exchange before there was a session. `error` is an errno or 0. The client is closed by whoever owns it.
  void Refuse(accounting::ResultCode result, accounting::Phase phase, int error);

  // OnEnd() with this result in place of the one that the report tells, unless it is ok().
  void EndAs(accounting::ResultCode result, const relay::SessionReport& report);

  void OnConnected(int upstream_fd, const sys::SocketAddress& upstream) override;
  void OnConnectFailed(const sys::SocketAddress& upstream, int error) override;
  void OnProgress(const relay::SessionReport& so_far) override;
  void OnEnd(const relay::SessionReport& report) override;

 private:
  void Submit(accounting::TrafficRecord record) const;

  // What the last `logdump` record said.
  struct Reported {
    int64_t from_client = 0;
    int64_t from_upstream = 0;
    sys::MonotonicNanos at = 0;
  };

  const std::shared_ptr<const ServiceContext> context_;
  accounting::TrafficRecord record_;
  std::unique_ptr<Reported> reported_;  // none before the first
};

}  // namespace sluice::service

#endif  // SLUICE_PROTOCOLS_SERVICE_EXCHANGE_OBSERVER_H_
