#ifndef SLUICE_RELAY_DATAGRAM_MAPPED_CLIENT_H_
#define SLUICE_RELAY_DATAGRAM_MAPPED_CLIENT_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "relay/connection_budget.h"
#include "relay/datagram/association.h"
#include "relay/handoff.h"
#include "relay/session_observer.h"
#include "sys/net/socket_address.h"

namespace sluice::relay {

class Worker;

// Told what becomes of one client of a mapped port. Owned by the client's session; its last call is OnEnd or the
// destructor. Worker only.
class MappedObserver {
 public:
  virtual ~MappedObserver() = default;
  virtual void OnConnected(int upstream_fd, const sys::SocketAddress& target) = 0;
  // Whether the session may go on (SessionObserver::OnReview).
  virtual Review OnReview() { return Review::kKept; }
  virtual void OnEnd(const AssociationReport& report) = 0;
};

// A service that maps a UDP port to one target, as the relay asks about it: the datagram sibling of AdmissionHandler.
// Shared by the workers: thread-safe. Its calls are made on workers and must not block.
class MappedPortHandler {
 public:
  struct Client {
    std::unique_ptr<MappedObserver> observer;
    // Where its datagrams go; nothing: told to MappedPorts::Resolved later, with the ticket.
    std::optional<sys::SocketAddress> target;
  };

  virtual ~MappedPortHandler() = default;

  // A client (address and port) that has no session. Nothing: its datagram is dropped.
  virtual std::optional<Client> OnClient(Worker& worker, const sys::SocketAddress& client, DatagramTicket ticket) = 0;
  // Sessions are counted from their first datagram; lives as long as the handler and all its sessions.
  virtual ConnectionBudget& budget() = 0;
  virtual const OutgoingOptions* outgoing() const = 0;
  // How long a session lives without a datagram.
  virtual int64_t idle_nanos() const = 0;
  // A session is for one datagram and its answer.
  virtual bool single() const = 0;
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_DATAGRAM_MAPPED_CLIENT_H_
