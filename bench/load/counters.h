#ifndef SLUICE_BENCH_LOAD_COUNTERS_H_
#define SLUICE_BENCH_LOAD_COUNTERS_H_

#include <atomic>
#include <cstdint>
#include <string>

namespace sluice::bench {

enum class Phase : uint64_t {
  kConnecting = 0,
  kRunning = 1,  // all connections are open, the load is on
  kDone = 2,
};

// What a command has done so far, in a file mapped by whoever measures: it reads these at the same moment as the CPU
// clocks, so that work and time are of one window whatever the command itself waits for. Eight 64-bit words, native
// byte order; bench/harness/counters.py reads them.
struct Counters {
  std::atomic<uint64_t> magic;  // kMagic once the rest is valid
  std::atomic<Phase> phase;
  std::atomic<uint64_t> started_nanos;  // CLOCK_MONOTONIC at kRunning
  std::atomic<uint64_t> exchanges;
  std::atomic<uint64_t> received_bytes;
  std::atomic<uint64_t> sent_bytes;
  std::atomic<uint64_t> errors;
  std::atomic<uint64_t> connections;  // open now

  static constexpr uint64_t kMagic = 0x31756f6c73636e62;

  // Only one thread writes: no locked instruction is needed.
  static void Add(std::atomic<uint64_t>& counter, uint64_t n) {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
};
static_assert(sizeof(Counters) == 64);

// The counters, in `file` (created or emptied; one that cannot be mapped ends the program) or, when it is "", in memory
// of its own. Never freed.
Counters& OpenCounters(const std::string& file);

// CLOCK_MONOTONIC.
uint64_t NowNanos();

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_LOAD_COUNTERS_H_
