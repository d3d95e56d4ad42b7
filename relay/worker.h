#ifndef SLUICE_RELAY_WORKER_H_
#define SLUICE_RELAY_WORKER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "relay/acceptor.h"
#include "relay/datagram/associations.h"
#include "relay/datagram/datagram_stats.h"
#include "relay/datagram/mapped_ports.h"
#include "relay/engine.h"
#include "relay/first_bytes.h"
#include "relay/handoff.h"
#include "sys/loop/loop.h"
#include "sys/stats/counter.h"
#include "sys/thread/clock.h"
#include "sys/thread/mailbox.h"
#include "sys/thread/thread_role.h"

namespace sluice::relay {

class WorkerPool;

struct WorkerStats {
  sys::Counter turns;
  sys::Counter slow_turns;  // took longer than Worker::kSlowTurnNanos
  sys::Counter slowest_turn_nanos;
  sys::Counter posted;  // hand-offs that came from other threads
};

// One thread that moves bytes: a loop, the sessions on it (engine), the listeners that it accepts from (acceptors), and
// a mailbox through which other threads hand it sessions.
//
// A turn: wait for readiness, the mailbox or a timer; events; mailbox; timers; flows that wait for their next budget;
// accepting. It never blocks but in the wait, and takes no lock that a blocking thread can hold: the mailbox's is held
// for a push_back or a swap.
//
// Threads: each method says. Fields are grouped by who touches them.
class Worker {
 public:
  // Some microseconds each.
  static constexpr uint32_t kReviewsPerTurn = 512;
  static constexpr int64_t kSlowTurnNanos = 10 * sys::kNanosPerMilli;
  static constexpr uint32_t kGenerationMask = SessionTable::kGenerationMask;

  // `clock` and `pool` (may be null) must outlive this object. Start-up only.
  Worker(int index, std::unique_ptr<sys::Loop> loop, const sys::Clock* clock, WorkerPool* pool);
  ~Worker();

  // --- Thread-safe.

  // Takes a session over. The door from handshake threads.
  void Post(Handoff handoff);
  // Runs `task` on the worker in its next turn: the door for start, reload and shutdown.
  void Run(std::function<void(Worker&)> task);
  // A place in some budget has become free.
  void ResumeAccepting();
  int running_sessions() const { return running_.load(std::memory_order_relaxed); }
  int index() const { return index_; }
  const char* loop_name() const { return loop_->name(); }
  const WorkerStats& stats() const { return stats_; }
  const EngineStats& engine_stats() const { return engine_.stats(); }
  const AcceptorStats& acceptor_stats() const { return acceptors_.stats(); }
  const DatagramStats& association_stats() const { return associations_.stats(); }
  const DatagramStats& mapped_port_stats() const { return mapped_ports_.stats(); }

  // --- The worker's own thread.

  // The thread's body: turns until Stop().
  void Loop();
  // Starts a session here, or on the least loaded worker when that has far fewer (WorkerPool::LessLoaded).
  void Adopt(Handoff handoff) ABSL_EXCLUSIVE_LOCKS_REQUIRED(role_);
  // Gives a client that was accepted here to the next worker in turn.
  void Deal(std::shared_ptr<AdmissionHandler> handler, sys::UniqueFd client, sys::SocketAddress address,
            Admission admission);
  // Gives an accepted client to its service, now or once it has spoken.
  void Admit(std::shared_ptr<AdmissionHandler> handler, sys::UniqueFd client, sys::SocketAddress address,
             Admission admission);
  // The worker that has what is not to be had once for each: it may be this one.
  Worker& first();
  // Ends every session, and every client that has not spoken yet.
  void EndAll(EndCode code);
  // Ends the clients that are between two exchanges; sessions that come there later end then.
  void EndIdle();
  // A new configuration counts from now on: asks all sessions, kReviewsPerTurn a turn, whether they may go on, ends
  // those that may not, and calls `done` at last, on this thread.
  void Review(std::function<void(const ReviewTally&)> done);
  // Runs `task` about once a second until it says false. For what need not be watched: a look at idle upstreams.
  void EachSecond(std::function<bool(Worker&)> task);
  AcceptorSet& acceptors() { return acceptors_; }
  Engine& engine() { return engine_; }
  Associations& associations() { return associations_; }
  MappedPorts& mapped_ports() { return mapped_ports_; }
  void Stop() { stopping_ = true; }
  sys::MonotonicNanos now() const { return now_; }
  const sys::ThreadRole& role() const ABSL_LOCK_RETURNED(role_) { return role_; }

  // Tokens of acceptors, kept apart from those of sessions by their kind.
  static constexpr uint8_t kKindAcceptor = 0xf0;
  static constexpr uint8_t kKindFirstBytes = 0xf1;
  static constexpr uint8_t kKindAssociation = 0xe0;  // + which of its sockets
  static constexpr uint8_t kKindMappedPort = 0xe8;
  static constexpr uint8_t kKindMappedClient = 0xe9;
  static_assert(kKindAssociation > Engine::kKindLast);
  static constexpr sys::Loop::Token AcceptorToken(uint32_t index, uint32_t generation) {
    return Engine::MakeToken(index, generation, kKindAcceptor);
  }

 private:
  struct Admitted {
    std::shared_ptr<AdmissionHandler> handler;
    sys::UniqueFd client;
    sys::SocketAddress address;
    Admission admission;
  };
  using Task = std::function<void(Worker&)>;
  using Message = std::variant<Handoff, Admitted, Task>;

  void Put(Message message);
  struct Reviewing {
    int list = 0;  // sessions, associations, clients of mapped ports
    uint32_t slot = 0;
    ReviewTally tally;
    std::function<void(const ReviewTally&)> done;
  };
  void GoOnReviewing(const std::shared_ptr<Reviewing>& reviewing);
  void Turn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(role_);
  void HandleMail() ABSL_EXCLUSIVE_LOCKS_REQUIRED(role_);
  int64_t WaitNanos() const;
  void RunEachSecond();

  // Constant after construction.
  const int index_;
  const sys::Clock* const clock_;
  WorkerPool* const pool_;

  // Any thread.
  sys::Mailbox<Message> mailbox_;
  std::atomic<bool> resume_{false};
  std::atomic<int> running_{0};  // written by the worker
  WorkerStats stats_;

  // Worker only.
  sys::ThreadRole role_;
  const std::unique_ptr<sys::Loop> loop_;
  sys::MonotonicNanos now_;
  Engine engine_;
  AcceptorSet acceptors_;
  FirstBytes first_bytes_;
  Associations associations_;
  MappedPorts mapped_ports_;
  std::vector<Message> mail_;
  std::vector<std::function<bool(Worker&)>> each_second_;
  sys::MonotonicNanos next_second_ = 0;  // of each_second_
  bool stopping_ = false;
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_WORKER_H_
