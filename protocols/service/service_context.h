#ifndef SLUICE_PROTOCOLS_SERVICE_SERVICE_CONTEXT_H_
#define SLUICE_PROTOCOLS_SERVICE_SERVICE_CONTEXT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "protocols/access/limits/limit_set.h"
#include "protocols/accounting/log_thread.h"
#include "protocols/auth/gate.h"
#include "protocols/dns/resolver.h"
#include "protocols/service/handshake_pool.h"
#include "protocols/service/snapshot.h"
#include "protocols/upstream/parent_health.h"
#include "relay/connection_budget.h"
#include "relay/handoff.h"
#include "sys/blocking/wait.h"
#include "sys/net/socket_address.h"

namespace sluice::service {

// One running service: its options, with what the process gives to it. Made by the server at start and at each reload;
// held by the service's handler and by each of its exchanges, so that everything a session refers to lives until the
// last one has ended, however often the configuration was replaced meanwhile.
//
// Immutable; what it points to is thread-safe.
struct ServiceContext {
  std::shared_ptr<const Snapshot> snapshot;
  const ServiceOptions* options = nullptr;  // in the snapshot
  // What its clients speak; for one of the protocols of `auto` not what the options say.
  ServiceType speaks = ServiceType::kTcpPortMap;
  relay::OutgoingOptions outgoing;
  uint16_t port = 0;  // the bound one (`-p0`), 0 for unix
  // What clients' sockets are, which a client's address does not tell: it may be that of a PROXY header.
  bool clients_are_tcp = true;

  // Kept over reloads while the listener is: connections count on.
  std::shared_ptr<relay::ConnectionBudget> budget;
  std::shared_ptr<accounting::LogChannel> log;  // null: no records
  bool log_addresses = false;  // the log's format asks for our own addresses, which cost a call and memory each
  std::shared_ptr<dns::Resolver> resolver;
  HandshakePool* handshakes = nullptr;  // outlives all contexts, like the next two
  upstream::ParentHealth* parent_health = nullptr;
  const sys::Cancellation* cancellation = nullptr;  // ends what handshake threads wait for at the end of the process
  // What its clients are charged with; null: nothing limits them.
  std::shared_ptr<const access::LimitSet> limits;
  // Where those of our services listen whose clients say where to: a client that is led to one of these (ReachesAny in
  // self_loops.h) would come back to us.
  std::shared_ptr<const std::vector<sys::SocketAddress>> own_proxies;
  // Who may use it, for what: as of this configuration, and what counts now.
  std::shared_ptr<const auth::Gate> gate = auth::Gate::OpenToAll();
  std::shared_ptr<const auth::CurrentGate> current_gate = std::make_shared<const auth::CurrentGate>(gate);
  std::shared_ptr<const auth::Gate> GateNow() const { return current_gate->Is(*gate) ? gate : current_gate->Get(); }
  // Everybody may, and nobody has to be asked: what most services are.
  bool IsOpen() const { return gate->open() && current_gate->Is(*gate); }
  // The target leads back here, directly or over other services of ours (SelfLoops): clients are refused.
  bool leads_to_itself = false;
};

}  // namespace sluice::service

#endif  // SLUICE_PROTOCOLS_SERVICE_SERVICE_CONTEXT_H_
