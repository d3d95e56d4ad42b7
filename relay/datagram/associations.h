#ifndef SLUICE_RELAY_DATAGRAM_ASSOCIATIONS_H_
#define SLUICE_RELAY_DATAGRAM_ASSOCIATIONS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "relay/connection_budget.h"
#include "relay/datagram/association.h"
#include "relay/datagram/datagram_stats.h"
#include "relay/datagram/receive_batch.h"
#include "relay/datagram/send_batch.h"
#include "relay/end_reason.h"
#include "relay/timer_wheel.h"
#include "sys/base/unique_fd.h"
#include "sys/loop/loop.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::relay {

// The UDP associations of one worker: datagrams of one client each to whatever destinations they name, and back.
//
// An association has the client's connection, a socket towards the client, and one of each family towards destinations,
// opened when first needed: three or four descriptors. Replies are taken from anybody, with their true source. Only the
// client's address may send; the port of its first datagram is kept (the socket is then connected to it, so that the
// kernel turns others away).
//
// A datagram whose destination is a name that is not known waits, at most kMostParked of them or kMostParkedBytes for
// each name and kMostQuestions names at a time; the rest is dropped. Errors that a destination brings (ICMP, a datagram
// too long, a forbidden address) are that datagram's and nobody else's.
//
// Several associations can share one port towards their clients (a container publishes ports one by one): then clients
// are told apart by their address and port, and of several that wait for their first datagram from one address, the one
// that has waited for longest gets it.
//
// One costs about 640 bytes of user memory (measured; the observer's included) and three descriptors once it has sent.
//
// It ends with the client's connection, after idle_nanos without a datagram in either direction, or with the process.
//
// Worker only. Nothing blocks; an association has kReceivesPerTurn calls a turn, then others have theirs.
class Associations {
 public:
  static constexpr int kReceivesPerTurn = 8;
  static constexpr size_t kMostParked = 8;
  static constexpr size_t kMostParkedBytes = 16 * 1024;
  static constexpr size_t kMostQuestions = 16;
  // Destinations that are remembered as met; beyond them all are met anew.
  static constexpr size_t kMostMet = 1024;
  // How long the destination of the datagram before is taken for the same without asking: names may move.
  static constexpr int64_t kSameNanos = sys::kNanosPerSecond;

  static constexpr int kSockets = 4;
  static constexpr int kSharedSocket = kSockets;
  // What the user adds to tokens: (slot, generation, one of kSockets or kSharedSocket) of this object's own.
  using TokenMaker = sys::Loop::Token (*)(uint32_t slot, uint32_t generation, int socket);

  Associations(sys::Loop* loop, TokenMaker make_token, sys::MonotonicNanos now);
  ~Associations();

  // Takes a port that associations may share: a UDP socket that is bound to `address` and O_NONBLOCK. -errno when the
  // loop has no room for it.
  int64_t Share(const sys::SocketAddress& address, sys::UniqueFd socket);
  // No new association will use it; it is closed when the last one has ended.
  void Unshare(const sys::SocketAddress& address);
  bool Shares(const sys::SocketAddress& address) { return FindShared(address) != nullptr; }

  // Whatever goes wrong, the observer hears of the end.
  void Adopt(AssociationHandoff handoff);
  void Resolved(const DatagramTicket& ticket, const sys::SocketAddress& address);

  void OnEvent(uint32_t slot, uint32_t generation, int socket, uint16_t ready);
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
  enum Which { kControl, kClient, kUpstream4, kUpstream6 };
  struct Socket {
    sys::UniqueFd fd;
    sys::Loop::WatchId watch = 0;
    bool watched = false;
    bool readable = false;
  };
  struct SharedPort {
    uint32_t slot = 0;
    uint32_t generation = 0;
    sys::SocketAddress address;
    Socket socket;  // none: not in use
    bool closing = false;
    bool ready_listed = false;
    int users = 0;                                              // associations, and one until Unshare()
    absl::flat_hash_map<sys::SocketAddress, uint32_t> clients;  // with port, to slot
    // By address without port (kNone: any), those without a datagram yet, the oldest first.
    absl::flat_hash_map<sys::SocketAddress, std::vector<uint32_t>> waiting;
  };
  struct Question {
    uint32_t id = 0;
    std::string name;
    uint16_t port = 0;
    std::vector<std::string> parked;
    size_t parked_bytes = 0;
  };
  struct Association {
    uint32_t slot = 0;
    uint32_t generation = 0;
    bool used = false;
    bool ending = false;
    bool locked = false;  // the client's port is known
    bool ready_listed = false;
    bool first_met = false;
    uint8_t watches = 0;
    uint32_t active_tick = 0;
    uint32_t next_question = 0;
    std::array<Socket, kSockets> sockets;
    AssociationHandoff handoff;
    SharedPort* shared = nullptr;
    sys::SocketAddress local;  // which of our addresses the client sends to, where the port is one of all of them
    AssociationReport report;
    // The header of the last datagram and where it led.
    std::string last_header;
    sys::SocketAddress last_to;
    sys::MonotonicNanos last_at = 0;
    std::unique_ptr<absl::flat_hash_set<sys::SocketAddress>> met;
    std::vector<Question> questions;
  };

  Association* Find(uint32_t slot, uint32_t generation);
  Association* Allocate();
  bool Watch(Association& association, int which, sys::UniqueFd fd);
  void Pump(Association& association);
  void ReadControl(Association& association);
  bool ReadClient(Association& association);
  bool ReadUpstream(Association& association, int which);
  void FromClient(Association& association, absl::string_view datagram, const sys::SocketAddress& from);
  bool IsTheClient(Association& association, const sys::SocketAddress& from);
  void SendTo(Association& association, const sys::SocketAddress& to, absl::string_view payload);
  // associations_shared.cc
  SharedPort* FindShared(const sys::SocketAddress& address);
  void JoinShared(Association& association, SharedPort& port);
  void LeaveShared(Association& association);
  void DropUser(SharedPort& port);
  void MakeBatches();
  void OnSharedEvent(uint32_t slot, uint32_t generation, uint16_t ready);
  void ReadShared(SharedPort& port);
  Association* ClientOf(SharedPort& port, const sys::SocketAddress& from);
  void Relay(Association& association, absl::string_view datagram);
  void Ask(Association& association, const AssociationObserver::Opened& opened, absl::string_view datagram);
  void Park(Question& question, absl::string_view payload);
  bool Met(Association& association, const sys::SocketAddress& to, absl::string_view name);
  int UpstreamSocket(Association& association, sys::AddressFamily family);
  void End(Association& association, EndCode code, EndSide side, int error);
  void FreeIfReleased(Association& association);
  void MakeReady(Association& association);

  static uint32_t TickOf(sys::MonotonicNanos now) { return static_cast<uint32_t>(now / sys::kNanosPerMilli); }
  uint32_t IdleDeadline(const Association& association) const;

  sys::Loop* const loop_;
  const TokenMaker make_token_;
  sys::MonotonicNanos now_;
  TimerWheel wheel_;
  DatagramStats stats_;
  std::unique_ptr<ReceiveBatch> receive_;  // from the first association on
  std::unique_ptr<SendBatch> send_;
  std::vector<std::unique_ptr<Association>> associations_;
  std::vector<std::unique_ptr<SharedPort>> shared_;
  std::vector<uint32_t> ready_shared_;
  std::vector<uint32_t> free_;
  std::vector<uint32_t> due_;
  std::vector<uint64_t> ready_;
  std::vector<uint64_t> ready_now_;
  int running_ = 0;
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_DATAGRAM_ASSOCIATIONS_H_
