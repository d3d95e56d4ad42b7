#ifndef SLUICE_PROTOCOLS_SERVICE_LISTENERS_H_
#define SLUICE_PROTOCOLS_SERVICE_LISTENERS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protocols/auth/gate.h"
#include "protocols/service/snapshot.h"
#include "relay/acceptor.h"
#include "relay/connection_budget.h"
#include "relay/datagram/mapped_client.h"
#include "relay/worker_pool.h"
#include "sys/base/unique_fd.h"
#include "sys/net/listen_socket.h"
#include "sys/net/socket_address.h"

namespace sluice::service {

// One listening address of one service: exactly one socket a worker (SO_REUSEPORT), or one for all where the address is
// a unix one.
//
// Known by service type, configured address and port, and its ordinal among equals: a reload keeps the sockets of a
// listener that it finds again, and the connections that wait in them, whatever else changed.
struct Listener {
  ServiceType type = ServiceType::kTcpPortMap;
  sys::SocketAddress configured;
  int ordinal = 0;
  sys::SocketAddress bound;    // with the port that was found for port 0
  sys::ListenOptions options;  // with which its sockets were opened
  bool transparent = false;    // as are these: TPROXY gives connections to such sockets only
  relay::AcceptorSet::Id id = 0;
  std::shared_ptr<relay::ConnectionBudget> budget;
  std::shared_ptr<auth::CurrentGate> gate;  // likewise kept

  // Open and not yet given to the workers; empty afterwards. With them goes the path of a unix socket.
  std::vector<sys::UniqueFd> sockets;

  Listener() = default;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();
};

// The listeners that a new configuration wants, beside those that run: nothing has changed yet, except that new sockets
// are open. Dropped without Commit, it leaves everything as it was.
struct ListenerPlan {
  struct Entry {
    std::shared_ptr<Listener> listener;
    bool is_new = false;
  };
  // A UDP port that associations share (`udp_ports N`); services of one address share it, too.
  struct AssociationPort {
    sys::SocketAddress address;
    sys::UniqueFd socket;  // empty: it is open already
  };
  std::vector<Entry> entries;                      // one for each service, in their order
  std::vector<AssociationPort> association_ports;  // all that are wanted
  std::vector<std::shared_ptr<Listener>> dropped;  // run now and are not wanted any more
  std::vector<std::string> notes;                  // warnings for the operator
};

// What serves the clients of one service: those of a stream, or those of a UDP port; the other one is null. Made from
// either (`return std::make_shared<PortMap>(...)`).
struct ServiceHandler {
  ServiceHandler() = default;
  template <typename Handler>
  ServiceHandler(std::shared_ptr<Handler> handler) {  // NOLINT: implicit, see above
    if constexpr (std::is_base_of_v<relay::AdmissionHandler, Handler>) {
      streams = std::move(handler);
    } else {
      datagrams = std::move(handler);
    }
  }

  std::shared_ptr<relay::AdmissionHandler> streams;
  std::shared_ptr<relay::MappedPortHandler> datagrams;
};

// Opens, keeps and closes the listening sockets of all services.
//
// A port in use is found by a probe bind without SO_REUSEPORT for each address that is new, before its first socket;
// services of one configuration on the same address share it; `-olSO_REUSEPORT` says that other processes may, too.
//
// Main thread only.
class ListenerSet {
 public:
  // `workers` must outlive this object.
  explicit ListenerSet(relay::WorkerPool* workers) : workers_(workers) {}
  // Without CloseAll() (a start that failed): no path of a unix socket stays behind.
  ~ListenerSet();

  // Errors name the service, its place in the configuration, and the address.
  absl::StatusOr<ListenerPlan> Plan(const Snapshot& snapshot);

  // Makes the plan the truth. handlers[i] belongs to entries[i]. Returns when every worker has been told, not when it
  // has acted.
  void Commit(ListenerPlan plan, const std::vector<ServiceHandler>& handlers);

  // Closes every listener once its queue is empty (shutdown).
  void CloseAll();
  // Listeners that are being closed and still have sockets open.
  int closing() const { return closing_->load(); }
  // Something listens on the port that sockets on `address` would share or overlap: on the same address, or one of them
  // on all addresses of the family.
  bool IsListening(const sys::SocketAddress& address, bool datagram) const;

 private:
  absl::Status Open(const ServiceOptions& options, ListenerPlan& plan, Listener& listener);
  void Close(const std::shared_ptr<Listener>& listener);
  absl::Status PlanAssociationPort(const ServiceOptions& options, ListenerPlan& plan) const;
  void CommitAssociationPorts(ListenerPlan& plan);

  relay::WorkerPool* const workers_;
  std::vector<std::shared_ptr<Listener>> running_;
  std::vector<sys::SocketAddress> association_ports_;
  relay::AcceptorSet::Id next_id_ = 1;
  // Shared with the workers' callbacks, which may outlive this object by a turn.
  std::shared_ptr<std::atomic<int>> closing_ = std::make_shared<std::atomic<int>>(0);
};

// "TCPPM 127.0.0.1:8080 (FILE:12)": how messages name a service.
std::string DescribeService(const ServiceOptions& options, const sys::SocketAddress& address);

}  // namespace sluice::service

#endif  // SLUICE_PROTOCOLS_SERVICE_LISTENERS_H_
