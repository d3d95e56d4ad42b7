// What the relay's decisions cost: each is made once a read, or once a timer, so a nanosecond here is one of each read.

#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "relay/flow.h"
#include "relay/grace_delay.h"
#include "relay/path_policy.h"
#include "relay/relay_options.h"
#include "relay/timer_wheel.h"
#include "sys/thread/clock.h"

namespace sluice::relay {
namespace {

// A direction that goes back and forth between copying and splicing: large reads, then small ones.
void BM_PathPolicy(benchmark::State& state) {
  const SpliceOptions options;
  PathPolicy policy(PathPolicy::ModeOf(options, /*from_client=*/false));
  uint32_t reads = 0;
  for (auto _ : state) {
    const int64_t bytes = (++reads & 8) != 0 ? 65536 : 300;
    if (policy.splicing()) {
      policy.OnSpliced(options, bytes);
    } else {
      policy.OnCopied(options, bytes, 65536);
    }
    benchmark::DoNotOptimize(policy);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_PathPolicy);

// Eight reads of which every other one leaves a rest.
void BM_FlowStep(benchmark::State& state) {
  constexpr FlowEvent kEvents[] = {FlowEvent::kTaken,    FlowEvent::kTaken,    FlowEvent::kRestLeft,
                                   FlowEvent::kRestGone, FlowEvent::kRestLeft, FlowEvent::kRestLeft,
                                   FlowEvent::kRestGone, FlowEvent::kTaken};
  FlowState at = FlowState::kReading;
  uint32_t events = 0;
  for (auto _ : state) {
    const FlowStep step = NextFlowStep(at, kEvents[events++ % 8]);
    at = step.state;
    benchmark::DoNotOptimize(step);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_FlowStep);

// The argument is the size of reads: under TRAFF the delay applies, above it does not.
void BM_GraceDelay(benchmark::State& state) {
  const GraceOptions options{8000, 2, 2};
  GraceDelay delay;
  sys::MonotonicNanos now = sys::kNanosPerSecond;
  int64_t waits = 0;
  for (auto _ : state) {
    waits += delay.OnRead(options, state.range(0), now += 100'000);
  }
  state.counters["waits"] = benchmark::Counter(static_cast<double>(waits), benchmark::Counter::kAvgIterations);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_GraceDelay)->Arg(1460)->Arg(65536);

// Timers are the session's idle time, half an hour ahead, re-armed at each sign of life; the argument is how many are
// armed. What moves from read to read is the deadline only; the wheel is asked when the old one fires.
void BM_TimerWheelRearm(benchmark::State& state) {
  const auto count = static_cast<TimerWheel::Id>(state.range(0));
  TimerWheel wheel(0);
  wheel.Reserve(count);
  for (TimerWheel::Id id = 0; id < count; ++id) wheel.Arm(id, 1'800'000 + id);
  TimerWheel::Id id = 0;
  TimerWheel::Tick when = 1'900'000;
  for (auto _ : state) {
    wheel.Arm(id, ++when);
    id = id + 7919 < count ? id + 7919 : (id + 7919) % count;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_TimerWheelRearm)->Arg(64)->Arg(10'000)->Arg(1'000'000);

// A grace delay: armed for 2 ms, fired, armed again; the argument is how many wait.
void BM_TimerWheelShortDelays(benchmark::State& state) {
  const auto count = static_cast<TimerWheel::Id>(state.range(0));
  TimerWheel wheel(0);
  wheel.Reserve(count);
  std::vector<TimerWheel::Id> due;
  for (TimerWheel::Id id = 0; id < count; ++id) due.push_back(id);
  TimerWheel::Tick now = 0;
  int64_t fired = 0;
  for (auto _ : state) {
    for (const TimerWheel::Id id : due) wheel.Arm(id, now + 2);
    due.clear();
    now += 2;
    wheel.Advance(now, due);
    fired += static_cast<int64_t>(due.size());
  }
  state.SetItemsProcessed(fired);
}
BENCHMARK(BM_TimerWheelShortDelays)->Arg(1)->Arg(1000)->Arg(100'000);

// What each turn of a worker pays: the time to the next of 10,000 idle timers, and a millisecond in which none fires.
void BM_TimerWheelQuietTurn(benchmark::State& state) {
  TimerWheel wheel(0);
  wheel.Reserve(10'000);
  for (TimerWheel::Id id = 0; id < 10'000; ++id) wheel.Arm(id, TimerWheel::kReachTicks);
  std::vector<TimerWheel::Id> due;
  TimerWheel::Tick now = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(wheel.TicksToNext());
    if (now + 1 < TimerWheel::kReachTicks) ++now;
    wheel.Advance(now, due);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_TimerWheelQuietTurn);

}  // namespace
}  // namespace sluice::relay
