#ifndef SLUICE_PROTOCOLS_SERVICE_SERVER_H_
#define SLUICE_PROTOCOLS_SERVICE_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protocols/access/own_address_book.h"
#include "protocols/accounting/log_thread.h"
#include "protocols/auth/gate.h"
#include "protocols/dns/resolver.h"
#include "protocols/service/handshake_pool.h"
#include "protocols/service/listeners.h"
#include "protocols/service/metering.h"
#include "protocols/service/service_context.h"
#include "protocols/service/snapshot.h"
#include "protocols/upstream/parent_health.h"
#include "relay/acceptor.h"
#include "relay/session_observer.h"
#include "relay/worker_pool.h"
#include "sys/blocking/wait.h"
#include "sys/loop/loop_probe.h"

namespace sluice::service {

// Makes what serves the clients of one service; tools/sluice says which class that is, since the protocols lie above
// this package.
using HandlerFactory = std::function<ServiceHandler(std::shared_ptr<const ServiceContext> context)>;

struct ServerOptions {
  int workers = 1;
  std::vector<int> cpus;  // of the affinity mask
  int handshake_threads = 1024;
  sys::LoopChoice loop;
  HandlerFactory make_handler;
  // One line for the operator, without a newline. Called on the main thread, the log thread, the one that keeps
  // counters, and handshake threads.
  std::function<void(const std::string&)> say;
};

// The running product: workers, handshake threads, resolver, log thread, listeners, and the snapshot that they follow.
//
//   Create -> Apply(first) -> Start -> { Apply(next) | Watch() }* -> StopAccepting -> idle()? -> EndSessions -> Stop
//
// Apply is a transaction: logs are opened and ports bound first; when any of it fails, everything stays as it was.
//
// Main thread only.
class Server {
 public:
  static absl::StatusOr<std::unique_ptr<Server>> Create(ServerOptions options);
  ~Server();

  // Takes the configuration: the first one, or a reload. `listening` receives "listening SERVICE ADDRESS:PORT" for each
  // service.
  absl::Status Apply(std::unique_ptr<Snapshot> snapshot, std::vector<std::string>* listening);

  // After a reload: every session is judged by the new configuration, and those that it does not allow are ended, but
  // where `noforce` says otherwise. Waits until the workers have done so.
  relay::ReviewTally ReviewSessions();

  // Starts the workers: clients are served from here on. An error when the system gives no threads.
  absl::Status Start();

  // Once a second: says what the operator should know of the last one (descriptors short, maxconn reached, slow turns),
  // a line each.
  void Watch();

  // Serves what the queues hold, then closes the listeners. Clients that are between two requests end at once.
  void StopAccepting();
  // All listeners are closed and no connection is left.
  bool idle() const;
  int connections() const;
  // Ends every session that still runs: FIN both ways, recorded as shutdown.
  void EndSessions();
  // Ends all threads; the log is written out.
  void Stop();

  const Snapshot& snapshot() const { return *snapshot_; }
  relay::WorkerPool& workers() { return *workers_; }

 private:
  explicit Server(ServerOptions options)
      : options_(std::move(options)), parent_health_(options_.say), metering_(options_.say) {}

  absl::StatusOr<std::shared_ptr<dns::Resolver>> MakeResolver(const Snapshot& snapshot, bool for_client_names) const;
  std::vector<std::shared_ptr<const auth::Gate>> MakeGates(const Snapshot& snapshot,
                                                           const std::shared_ptr<dns::Resolver>& resolver);
  absl::StatusOr<std::vector<std::shared_ptr<accounting::LogChannel>>> OpenLogs(const Snapshot& snapshot);
  void SayIfGrown(int64_t now, int64_t& seen, const std::string& what);

  const ServerOptions options_;
  // Before the threads that use them.
  upstream::ParentHealth parent_health_;
  sys::Cancellation cancellation_;
  Metering metering_;
  std::unique_ptr<relay::WorkerPool> workers_;
  std::unique_ptr<HandshakePool> handshakes_;
  std::unique_ptr<accounting::LogThread> log_;
  std::shared_ptr<dns::Resolver> resolver_;
  // What `local` means to rules; looked at once a second while there are such.
  const std::shared_ptr<access::OwnAddressBook> own_addresses_ = std::make_shared<access::OwnAddressBook>();
  bool watches_own_addresses_ = false;
  std::unique_ptr<ListenerSet> listeners_;
  std::shared_ptr<const Snapshot> snapshot_;
  // Every budget that may still have connections, for connections().
  std::vector<std::shared_ptr<relay::ConnectionBudget>> budgets_;
  struct Seen {
    int64_t descriptor_pauses = 0;
    int64_t full_pauses = 0;
    int64_t slow_turns = 0;
    int64_t shed = 0;
    int64_t datagrams_full = 0;
    int64_t datagrams_parked = 0;
    int64_t datagrams_no_resource = 0;
  };
  Seen seen_;
};

}  // namespace sluice::service

#endif  // SLUICE_PROTOCOLS_SERVICE_SERVER_H_
