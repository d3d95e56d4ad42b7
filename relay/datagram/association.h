#ifndef SLUICE_RELAY_DATAGRAM_ASSOCIATION_H_
#define SLUICE_RELAY_DATAGRAM_ASSOCIATION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/strings/string_view.h"
#include "relay/connection_budget.h"
#include "relay/end_reason.h"
#include "relay/handoff.h"
#include "relay/session_observer.h"
#include "sys/base/unique_fd.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::relay {

// Names a question of an association for later: it may have ended when the answer is there. Copies; for any thread.
struct DatagramTicket {
  uint32_t slot = 0;
  uint32_t generation = 0;
  uint32_t question = 0;
};

// What an association has come to.
struct AssociationReport {
  EndReason reason;
  int64_t bytes_from_client = 0;  // payload that went on
  int64_t bytes_from_upstream = 0;
  sys::MonotonicNanos started = 0;
  sys::MonotonicNanos ended = 0;
};

// The layer above, as an association sees it: it knows the envelope in which the client's datagrams come, who may be
// sent to, and how names resolve. One object an association, owned by it; its last call is OnEnd or the destructor.
//
// Worker only: no call may block.
class AssociationObserver {
 public:
  static constexpr size_t kMostHeaderBytes = 22;

  // A client's datagram without its envelope.
  struct Opened {
    enum class To : uint8_t { kNowhere, kAddress, kName };
    To to = To::kNowhere;        // kNowhere: malformed
    sys::SocketAddress address;  // kAddress; with the port
    absl::string_view name;      // kName
    uint16_t port = 0;           // kName
    size_t header_bytes = 0;     // what stands before the payload
  };

  virtual ~AssociationObserver() = default;

  virtual Opened Open(absl::string_view datagram) = 0;
  // Writes what goes before a payload from `from` to the client, at most kMostHeaderBytes; its length.
  virtual size_t Seal(const sys::SocketAddress& from, char* header) = 0;

  // Whether a destination that was not met before may be sent to (AssociationHandoff::admit_each). `name`: how the
  // client called it, or empty.
  virtual bool Admit(const sys::SocketAddress& to, absl::string_view name) = 0;

  // The address of a name with this port, kNone when it has none; nothing when that is not known now: then it is told
  // to Associations::Resolved with this ticket, once.
  virtual std::optional<sys::SocketAddress> Resolve(absl::string_view name, uint16_t port, DatagramTicket ticket) = 0;

  // Whether the association may go on (SessionObserver::OnReview). If so, each destination is asked for anew.
  virtual Review OnReview() { return Review::kKept; }

  virtual void OnEnd(const AssociationReport& report) = 0;
};

// Everything that an association starts with. Move-only.
//
// REQUIRES: sockets valid and O_NONBLOCK; observer not null.
struct AssociationHandoff {
  sys::UniqueFd control;           // the client's connection: the association ends with it
  sys::UniqueFd client_socket;     // UDP, bound where the client sends to; none: `shared_port` says where
  sys::SocketAddress shared_port;  // one of Associations::Share()
  sys::SocketAddress client;       // the only address that may send; kNone: any. The port of its first datagram counts.
  const OutgoingOptions* outgoing = nullptr;  // outlives the association (the observer holds the snapshot)
  int64_t idle_nanos = 0;                     // without a datagram
  bool admit_each = true;                     // false: Admit is asked for the first destination only
  std::unique_ptr<AssociationObserver> observer;
  Admission admission;
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_DATAGRAM_ASSOCIATION_H_
