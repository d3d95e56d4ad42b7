#ifndef SLUICE_RELAY_ACCEPTOR_H_
#define SLUICE_RELAY_ACCEPTOR_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "relay/connection_budget.h"
#include "sys/base/unique_fd.h"
#include "sys/loop/loop.h"
#include "sys/net/socket_address.h"
#include "sys/stats/counter.h"
#include "sys/thread/clock.h"

namespace sluice::relay {

class Transform;
class Worker;

// The admitted-connection callback: what a service does with a client that has been accepted and has its place in the
// budget. Either it hands the session off at once (nothing has to block), or it gives the client to a handshake thread.
//
// OnAdmitted is called on the worker: it must not block. Shared by the workers that accept for the service:
// thread-safe.
class AdmissionHandler {
 public:
  virtual ~AdmissionHandler() = default;
  virtual void OnAdmitted(Worker& worker, sys::UniqueFd client, sys::SocketAddress client_address,
                          Admission admission) = 0;
  // The same for a client whose bytes go through `transform` (transform.h), which may have some already. A handler that
  // serves such clients says how; this one does not, and they are closed.
  virtual void OnSecured(Worker& worker, sys::UniqueFd client, std::unique_ptr<Transform> transform,
                         sys::SocketAddress client_address, Admission admission);
  // For protocols in which the client speaks first: how long it may be silent. OnAdmitted is then called once there is
  // something to read, and OnSilent when there was nothing for so long. 0: the client is not waited for.
  virtual int64_t first_byte_nanos() const { return 0; }
  virtual void OnSilent(sys::UniqueFd client, sys::SocketAddress client_address, Admission admission) {
    (void)client, (void)client_address;
    admission.Return();
  }
  // A client that waits to speak is between two exchanges: a drain ends it at once.
  virtual bool is_idle() const { return false; }
  // The budget that admissions come from; lives as long as the handler and all its sessions.
  virtual ConnectionBudget& budget() = 0;
};

struct AcceptorStats {
  sys::Counter accepted;
  sys::Counter full_pauses;        // maxconn reached
  sys::Counter descriptor_pauses;  // EMFILE, ENFILE, ENOBUFS, ENOMEM, or the last descriptors before that
  sys::Counter accept_errors;      // anything else: the one connection is skipped
};

// The listening sockets of one worker. Accepting is accept4 on readiness, at most kAcceptsPerTurn a turn and socket, so
// that no backlog, however long, takes the worker away from its sessions.
//
// Stops at the service's limit, and when descriptors run short: then the clients wait in the kernel's queue, nothing
// spins, and accepting is tried again when a place is free, or every kRetryMillis.
//
// Worker only.
class AcceptorSet {
 public:
  using Id = uint32_t;
  static constexpr int kAcceptsPerTurn = 64;
  static constexpr int kRetryMillis = 100;
  // A listener that is given up is closed once its queue was found empty twice, this long apart: the kernel puts
  // connections whose handshake was under way into it for a moment longer.
  static constexpr int kCloseMillis = 100;
  // Descriptors kept for what accepted clients need (their upstream, a pipe, a log that is opened again).
  static constexpr int kReservedDescriptors = 16;

  AcceptorSet(Worker* worker, sys::Loop* loop) : worker_(worker), loop_(loop) {}

  // Starts accepting. -errno when the loop refuses the socket. `deal`: give the clients to all workers in turn (a unix
  // listener cannot be one a worker). Ids are chosen by the caller, unique for this worker.
  int64_t Add(Id id, sys::UniqueFd listener, std::shared_ptr<AdmissionHandler> handler, bool deal);
  // From now on another handler (after a reload).
  void SetHandler(Id id, std::shared_ptr<AdmissionHandler> handler);
  // Serves what is in the queue, limits or not, then closes. `closed` is called at the end, on the worker.
  void Close(Id id, std::function<void()> closed);

  void OnEvent(uint32_t index, uint32_t generation, uint16_t ready);
  // Somebody may have found room in a budget.
  void Resume();
  // Accepts where something waits, and looks at the timers.
  void Run(sys::MonotonicNanos now);
  // Nanoseconds until Run() has something to do; -1 = never.
  int64_t NanosToNext(sys::MonotonicNanos now) const;

  bool empty() const { return open_ == 0; }
  const AcceptorStats& stats() const { return stats_; }

 private:
  enum class Phase : uint8_t { kUnused, kOpen, kClosing, kClosingAgain, kReleasing };
  struct Acceptor {
    Id id = 0;
    uint32_t generation = 0;
    Phase phase = Phase::kUnused;
    bool ready = false;  // something waits in the queue, as far as is known
    bool full = false;   // stopped by the budget
    bool deal = false;
    sys::MonotonicNanos retry_at = 0;  // 0 = no timer
    sys::UniqueFd fd;
    sys::Loop::WatchId watch = 0;
    std::shared_ptr<AdmissionHandler> handler;
    std::function<void()> closed;
  };

  Acceptor* Find(Id id);
  void AcceptSome(Acceptor& acceptor, sys::MonotonicNanos now);
  bool AcceptOne(Acceptor& acceptor, sys::MonotonicNanos now);
  void QueueEmpty(Acceptor& acceptor, sys::MonotonicNanos now);
  void PauseForDescriptors(Acceptor& acceptor, sys::MonotonicNanos now);
  bool DescriptorsRunShort(int newest_fd, sys::MonotonicNanos now);

  Worker* const worker_;
  sys::Loop* const loop_;
  std::deque<Acceptor> acceptors_;  // none moves when a handler adds another
  int open_ = 0;
  int64_t most_descriptors_ = 0;  // RLIMIT_NOFILE, as of limit_asked_at_
  sys::MonotonicNanos limit_asked_at_ = 0;
  AcceptorStats stats_;
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_ACCEPTOR_H_
