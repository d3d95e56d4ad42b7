#ifndef SLUICE_RELAY_TESTING_FAULTY_LOOP_H_
#define SLUICE_RELAY_TESTING_FAULTY_LOOP_H_

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "sys/loop/loop.h"

namespace sluice::relay::testing {

// A loop that does everything that loop.h allows and a real one does rarely: events come late, in parts, twice, with
// kPriority that means nothing; watches are refused, or are lost later ("all bits once and nothing more"); kReleased
// takes its time. Which, and when, follows from the seed.
class FaultyLoop final : public sys::Loop {
 public:
  // Chances in a thousand.
  struct Faults {
    int late = 200;
    int parts = 200;
    int again = 50;
    int priority = 100;
    int refuse = 10;
    int lose = 5;
    int late_release = 300;
  };

  FaultyLoop(std::unique_ptr<sys::Loop> loop, uint32_t seed, Faults faults)
      : loop_(std::move(loop)), random_(seed), faults_(faults) {}

  int64_t Watch(int fd, Token token, Interest interest) override;
  void Release(WatchId watch) override { Forget(watch), loop_->Release(watch); }
  void ReleaseToClose(WatchId watch) override;
  absl::Span<const Event> Turn(int64_t timeout_nanos) override;
  void Wake() override { loop_->Wake(); }
  int watches() const override { return loop_->watches() + static_cast<int>(unreleased_.size()); }
  const char* name() const override { return loop_->name(); }
  const Stats& stats() const override { return loop_->stats(); }

  int lost() const { return lost_; }
  int refused() const { return refused_; }

 private:
  struct Watched {
    Token token = 0;
    uint16_t last = 0;  // the bits of the latest event
    uint16_t owed = 0;  // bits that are late
    bool lost = false;
  };

  bool Chance(int in_a_thousand) { return static_cast<int>(random_() % 1000) < in_a_thousand; }
  Token Forget(WatchId watch);
  void Give(Token token, uint16_t ready);
  void TakeEvent(const Event& event);

  const std::unique_ptr<sys::Loop> loop_;
  std::mt19937 random_;
  const Faults faults_;
  std::map<WatchId, Watched> watched_;
  std::map<Token, WatchId> by_token_;
  std::set<Token> prompt_;         // closed when the inner loop lets go: kReleased may not be late
  std::vector<Token> unreleased_;  // the inner loop has let go, the user does not know yet
  std::vector<Event> events_;
  int lost_ = 0;
  int refused_ = 0;
};

}  // namespace sluice::relay::testing

#endif  // SLUICE_RELAY_TESTING_FAULTY_LOOP_H_
