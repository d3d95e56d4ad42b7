#include "relay/flow.h"

#include <random>
#include <string>

#include "gtest/gtest.h"

namespace sluice::relay {
namespace {

using S = FlowState;
using E = FlowEvent;
using A = FlowAction;

constexpr S kStates[] = {S::kReading, S::kHolding, S::kFlushing, S::kEnded};
constexpr E kEvents[] = {E::kTaken, E::kRestLeft, E::kRestGone, E::kSourceEnd, E::kAbandon};

struct Row {
  S state;
  E event;
  S next;
  A action;
};

// Every state with every event.
constexpr Row kTable[] = {
    {S::kReading, E::kTaken, S::kReading, A::kNone},       {S::kReading, E::kRestLeft, S::kHolding, A::kNone},
    {S::kReading, E::kRestGone, S::kReading, A::kNone},    {S::kReading, E::kSourceEnd, S::kEnded, A::kShutSink},
    {S::kReading, E::kAbandon, S::kEnded, A::kNone},       {S::kHolding, E::kTaken, S::kHolding, A::kNone},
    {S::kHolding, E::kRestLeft, S::kHolding, A::kNone},    {S::kHolding, E::kRestGone, S::kReading, A::kNone},
    {S::kHolding, E::kSourceEnd, S::kFlushing, A::kNone},  {S::kHolding, E::kAbandon, S::kEnded, A::kDropRest},
    {S::kFlushing, E::kTaken, S::kFlushing, A::kNone},     {S::kFlushing, E::kRestLeft, S::kFlushing, A::kNone},
    {S::kFlushing, E::kRestGone, S::kEnded, A::kShutSink}, {S::kFlushing, E::kSourceEnd, S::kFlushing, A::kNone},
    {S::kFlushing, E::kAbandon, S::kEnded, A::kDropRest},  {S::kEnded, E::kTaken, S::kEnded, A::kNone},
    {S::kEnded, E::kRestLeft, S::kEnded, A::kNone},        {S::kEnded, E::kRestGone, S::kEnded, A::kNone},
    {S::kEnded, E::kSourceEnd, S::kEnded, A::kNone},       {S::kEnded, E::kAbandon, S::kEnded, A::kNone},
};

TEST(FlowTest, EveryStateWithEveryEvent) {
  static_assert(std::size(kTable) == std::size(kStates) * std::size(kEvents));
  for (const Row& row : kTable) {
    const FlowStep step = NextFlowStep(row.state, row.event);
    EXPECT_EQ(FlowStateName(step.state), FlowStateName(row.next))
        << FlowStateName(row.state) << " with event " << static_cast<int>(row.event);
    EXPECT_EQ(step.action, row.action) << FlowStateName(row.state) << " with event " << static_cast<int>(row.event);
  }
}

// Whatever order events come in: the sink is shut at most once, and never with a rest still held; what is held is
// delivered or dropped by the end; an ended flow stays so.
TEST(FlowTest, WalksKeepTheInvariants) {
  std::mt19937 random(1);
  for (int walk = 0; walk < 2000; ++walk) {
    S state = S::kReading;
    bool holds = false;
    int shuts = 0;
    for (int i = 0; i < 30; ++i) {
      const E event = kEvents[random() % std::size(kEvents)];
      // What cannot be seen (flow.h, REQUIRES).
      if (event == E::kRestGone && !holds) continue;
      if (event == E::kTaken && holds) continue;
      const FlowStep step = NextFlowStep(state, event);
      if (state == S::kEnded) {
        EXPECT_EQ(step.state, S::kEnded);
        EXPECT_EQ(step.action, A::kNone);
        continue;
      }
      if (event == E::kRestLeft) holds = true;
      if (event == E::kRestGone || step.action == A::kDropRest) holds = false;
      if (step.action == A::kShutSink) {
        ++shuts;
        EXPECT_FALSE(holds);
        EXPECT_EQ(step.state, S::kEnded);
      }
      state = step.state;
      EXPECT_EQ(holds, HoldsRest(state));
    }
    EXPECT_LE(shuts, 1);
  }
}

}  // namespace
}  // namespace sluice::relay
