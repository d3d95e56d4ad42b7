#ifndef SLUICE_SYS_LOOP_TESTING_FAULTY_LOOP_H_
#define SLUICE_SYS_LOOP_TESTING_FAULTY_LOOP_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "sys/loop/loop.h"

namespace sluice::sys::testing {

// A real loop that uses all the freedom that loop.h leaves it: events come late, in another order, twice, in parts, or
// for nothing; turns end early; releases take two turns. It loses nothing, so what runs on it must still move every
// byte and free every descriptor. With `stale` and `lost` it goes further than a healthy kernel does.
//
//   FaultyLoop loop(*MakeLoop(kind), seed, {});
//
// The same seed gives the same decisions; what the kernel reports when is not repeated.
//
// Threads: as Loop.
class FaultyLoop final : public Loop {
 public:
  // Chances in a thousand, for each event (or turn, or watch) anew.
  struct Chances {
    int late = 200;        // an event is held back for one to three turns
    int split = 200;       // an event with several bits comes as two
    int twice = 100;       // an event comes a second time
    int for_nothing = 50;  // a turn: some live watch is reported readable, writable or both, as its interest allows
    int early = 50;        // a turn returns at once with nothing, as if a signal had come
    int slow_release = 500;
    int stale = 20;   // a turn: an event for a token that was released a while ago
    int refused = 0;  // Watch() gives -ENOMEM
    int lost = 0;     // a turn: some live watch fails as a ring's does for want of memory (see Errors in loop.h)
  };

  FaultyLoop(std::unique_ptr<Loop> loop, uint64_t seed, Chances chances)
      : loop_(std::move(loop)), random_(seed), chances_(chances) {}

  int64_t Watch(int fd, Token token, Interest interest) override;
  void Release(WatchId watch) override;
  absl::Span<const Event> Turn(int64_t timeout_nanos) override;
  void Wake() override { loop_->Wake(); }

  int watches() const override { return static_cast<int>(live_.size()); }
  const char* name() const override { return loop_->name(); }
  const Stats& stats() const override { return loop_->stats(); }

  // Faults so far.
  int64_t faults() const { return faults_; }

 private:
  struct Live {
    Token token;
    Interest interest;
    bool releasing = false;
    bool lost = false;
  };
  struct Held {
    WatchId watch;
    Event event;
    int turns;  // still to wait
  };

  bool Chance(int of_a_thousand);
  void Hold(WatchId watch, Event event, int turns) { held_.push_back({watch, event, turns}); }
  void Take(const Event& event);
  void Invent();
  void DeliverDue();
  std::map<WatchId, Live>::iterator AnyLive();

  std::unique_ptr<Loop> loop_;
  std::mt19937_64 random_;
  const Chances chances_;
  std::map<WatchId, Live> live_;
  std::map<Token, WatchId> by_token_;  // one watch a token, as the users of loops have it
  std::vector<Held> held_;
  std::vector<Token> released_;
  std::vector<Event> events_;
  int64_t faults_ = 0;
};

}  // namespace sluice::sys::testing

#endif  // SLUICE_SYS_LOOP_TESTING_FAULTY_LOOP_H_
