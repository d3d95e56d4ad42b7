#ifndef SLUICE_PROTOCOLS_GATEWAYS_PORT_MAP_H_
#define SLUICE_PROTOCOLS_GATEWAYS_PORT_MAP_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocols/access/request_facts.h"
#include "protocols/auth/hearing.h"
#include "protocols/service/exchange_observer.h"
#include "protocols/service/judged_lookup.h"
#include "protocols/service/service_context.h"
#include "relay/acceptor.h"
#include "relay/transform.h"
#include "relay/worker.h"

namespace sluice::gateways {

// `tcppm`: every client is connected to the one target of the service, or, with `-T`, with whom it was going to when
// its connection was redirected to us.
//
// Where the target is an address, or a name whose addresses are known without asking, and the client is judged without
// asking anybody, the worker that accepted the client starts the session itself and connects on its own: no thread is
// visited. Else a handshake thread asks the name servers, and posts the session to the worker. Who is not let in is
// closed.
//
// Thread-safe; OnAdmitted on workers only.
class PortMap final : public relay::AdmissionHandler, public std::enable_shared_from_this<PortMap> {
 public:
  explicit PortMap(std::shared_ptr<const service::ServiceContext> context) : context_(std::move(context)) {}

  void OnAdmitted(relay::Worker& worker, sys::UniqueFd client, sys::SocketAddress client_address,
                  relay::Admission admission) override;
  void OnSecured(relay::Worker& worker, sys::UniqueFd client, std::unique_ptr<relay::Transform> transform,
                 sys::SocketAddress client_address, relay::Admission admission) override;
  relay::ConnectionBudget& budget() override { return *context_->budget; }

 private:
  // A client on its way to being a session.
  struct Arrival {
    sys::UniqueFd client;
    relay::Admission admission;
    std::unique_ptr<service::ExchangeObserver> observer;
    std::unique_ptr<relay::Transform> transform;  // of a client that speaks TLS to us
    service::RelayTarget target = {};
    std::unique_ptr<auth::Hearing> hearing = nullptr;  // null: everybody may
  };

  void Serve(relay::Worker& worker, Arrival arrival) const;
  // Starts the session.
  void Start(relay::Worker& worker, relay::Handoff handoff) const;
  // What the upstream's certificate has to say.
  std::string UpstreamName(const relay::Handoff& handoff) const;

  static access::RequestFacts FactsOf(const Arrival& arrival);
  void JudgeOnThread(relay::Worker& worker, Arrival arrival) const;
  // The session, or nothing when it was refused.
  std::optional<relay::Handoff> HandoffOf(service::JudgedLookup judged, Arrival arrival) const;
  bool IsOurselves(const sys::SocketAddress& target, int client) const;
  static void RefuseLoop(const sys::SocketAddress& target, Arrival& arrival);

  const std::shared_ptr<const service::ServiceContext> context_;
};

}  // namespace sluice::gateways

#endif  // SLUICE_PROTOCOLS_GATEWAYS_PORT_MAP_H_
