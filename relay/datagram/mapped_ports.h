#ifndef SLUICE_RELAY_DATAGRAM_MAPPED_PORTS_H_
#define SLUICE_RELAY_DATAGRAM_MAPPED_PORTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "relay/connection_budget.h"
#include "relay/datagram/association.h"
#include "relay/datagram/datagram_stats.h"
#include "relay/datagram/mapped_client.h"
#include "relay/datagram/receive_batch.h"
#include "relay/datagram/send_batch.h"
#include "relay/end_reason.h"
#include "relay/timer_wheel.h"
#include "sys/base/unique_fd.h"
#include "sys/loop/loop.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::relay {

// The UDP ports of one worker that are mapped to a target. Each client (address and port) has a session: a socket of
// its own, connected to the target, so that answers find their way back and nobody else's are taken. The kernel spreads
// clients over the workers' sockets of one port by their address and port, so a client stays with its worker.
//
// Sessions are bounded by the service's budget. When that is used up, a new client takes the place of the one that has
// been silent for longest: a scan costs the silent and not those who talk. An answer is sent from the address that the
// client had sent to.
//
// Errors that the target brings (ICMP: nobody listens there) end nothing and are not told to clients.
//
// Worker only. Nothing blocks; a socket has kReceivesPerTurn calls a turn, then others have theirs.
class MappedPorts {
 public:
  using Id = uint32_t;
  static constexpr int kReceivesPerTurn = 8;
  // What waits for the target's name to be resolved, for each client.
  static constexpr size_t kMostParked = 8;
  static constexpr size_t kMostParkedBytes = 16 * 1024;

  // What the user adds to tokens: (slot, generation) of this object's own, of a port or of a client.
  using TokenMaker = sys::Loop::Token (*)(uint32_t slot, uint32_t generation, bool port);

  MappedPorts(Worker* worker, sys::Loop* loop, TokenMaker make_token, sys::MonotonicNanos now);
  ~MappedPorts();

  // As AcceptorSet's: ids are the caller's, unique for this worker. -errno when the loop refuses the socket.
  int64_t Add(Id id, sys::UniqueFd socket, std::shared_ptr<MappedPortHandler> handler);
  // For clients that come from now on.
  void SetHandler(Id id, std::shared_ptr<MappedPortHandler> handler);
  // Ends the port and its sessions. `closed` is called at the end, on the worker.
  void Close(Id id, std::function<void()> closed);
  void Resolved(const DatagramTicket& ticket, const sys::SocketAddress& target);

  void OnPortEvent(uint32_t slot, uint32_t generation, uint16_t ready);
  void OnClientEvent(uint32_t slot, uint32_t generation, uint16_t ready);
  void AdvanceTo(sys::MonotonicNanos now);
  void RunReady();
  // Nanoseconds until there is something to do; 0 = now, -1 = never.
  int64_t NanosToNext(sys::MonotonicNanos now) const;
  void EndAll(EndCode code);
  // As Engine::Review; each place of the list is a slot.
  uint32_t Review(uint32_t slot, uint32_t most, ReviewTally& tally);

  int running() const { return running_; }
  const DatagramStats& stats() const { return stats_; }

 private:
  static constexpr uint32_t kNil = 0xffffffff;

  struct Port {
    uint32_t slot = 0;
    uint32_t generation = 0;
    Id id = 0;
    bool used = false;
    bool closing = false;
    bool readable = false;
    sys::UniqueFd fd;
    sys::Loop::WatchId watch = 0;
    std::shared_ptr<MappedPortHandler> handler;
    std::function<void()> closed;
    absl::flat_hash_map<sys::SocketAddress, uint32_t> clients;  // address to slot
    // Sessions by their last datagram from the client, the oldest first.
    uint32_t oldest = kNil;
    uint32_t newest = kNil;
  };
  struct Client {
    uint32_t slot = 0;
    uint32_t generation = 0;
    uint32_t port = 0;
    uint32_t older = kNil;
    uint32_t newer = kNil;
    bool used = false;
    bool ending = false;
    bool readable = false;
    bool single = false;
    bool watched = false;
    uint32_t active_tick = 0;
    int64_t idle_nanos = 0;
    sys::UniqueFd fd;  // none until the target is known
    sys::Loop::WatchId watch = 0;
    sys::SocketAddress address;
    sys::SocketAddress local;  // which of our addresses it sends to; kNone where the port has but one
    std::vector<std::string> parked;
    size_t parked_bytes = 0;
    std::shared_ptr<MappedPortHandler> handler;
    std::unique_ptr<MappedObserver> observer;
    Admission admission;
    AssociationReport report;
  };

  Port* FindPort(Id id);
  Client* FindClient(uint32_t slot, uint32_t generation);
  void ReadPort(Port& port);
  void FromClient(Port& port, absl::string_view datagram, const sys::SocketAddress& from, const sys::SocketAddress& to);
  Client* NewClient(Port& port, const sys::SocketAddress& from);
  bool TakePlace(Port& port, Admission& admission);
  Client& Allocate();
  bool Connect(Client& client, const sys::SocketAddress& target);
  bool ReadClient(Client& client);
  void End(Client& client, EndCode code, EndSide side, int error);
  void FreeIfReleased(Client& client);
  void Unlink(Port& port, Client& client);
  void LinkNewest(Port& port, Client& client);
  static uint64_t KeyOf(const Client& client) { return uint64_t{client.generation} << 32 | client.slot; }
  static uint32_t TickOf(sys::MonotonicNanos now) { return static_cast<uint32_t>(now / sys::kNanosPerMilli); }
  static uint32_t IdleDeadline(const Client& client);

  Worker* const worker_;
  sys::Loop* const loop_;
  const TokenMaker make_token_;
  sys::MonotonicNanos now_;
  TimerWheel wheel_;
  DatagramStats stats_;
  std::unique_ptr<ReceiveBatch> receive_;  // from the first port on
  std::unique_ptr<SendBatch> send_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<uint32_t> free_;
  std::vector<uint32_t> due_;
  std::vector<uint32_t> ready_ports_;
  std::vector<uint64_t> ready_clients_;
  int running_ = 0;
  bool evicted_ = false;  // in this round of reading
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_DATAGRAM_MAPPED_PORTS_H_
