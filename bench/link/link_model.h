#ifndef SLUICE_BENCH_LINK_LINK_MODEL_H_
#define SLUICE_BENCH_LINK_LINK_MODEL_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "sys/thread/clock.h"

namespace sluice::bench::link {

// What the link is like; the same both ways.
struct LinkOptions {
  int64_t bits_per_second = 0;  // of each connection, each way; 0: no limit
  int64_t delay_nanos = 0;      // each way
  double loss = 0;              // the share of packets that are lost, 0 to 1
  int64_t queue_packets = 100;  // of a connection, before its bottleneck: as many as fq(8) holds
  uint64_t seed = 1;
};

// One direction of a link on which every connection has a bottleneck of its own, as if each client sat behind its own
// line: decides what becomes of a packet, and when it arrives. Packets of a connection leave the bottleneck in their
// order, each taking its time at the rate; what would wait behind more than the queue's worth of bytes is dropped. Then
// it may be lost on the way (the bottleneck was busy with it all the same), and takes the delay.
//
// A connection that has nothing waiting needs no memory. Pure; Thread-compatible.
class LinkDirection {
 public:
  explicit LinkDirection(const LinkOptions& options);

  enum class Fate : uint8_t { kArrives, kLost, kQueueFull };
  // For a packet of `bytes` bytes of connection `flow` that comes now; `*arrival` is set with kArrives. `now` never
  // goes back.
  Fate Enter(uint64_t flow, size_t bytes, sys::MonotonicNanos now, sys::MonotonicNanos* arrival);

  // Connections of which it knows something.
  size_t flows() const { return free_at_.size(); }

 private:
  bool Shape(uint64_t flow, size_t bytes, sys::MonotonicNanos now, sys::MonotonicNanos* departure);
  void ForgetIdle(sys::MonotonicNanos now);
  bool Loses();

  const LinkOptions options_;
  const double nanos_per_byte_;
  const int64_t queue_nanos_;
  // When a connection's bottleneck will have sent all that it was given.
  absl::flat_hash_map<uint64_t, sys::MonotonicNanos> free_at_;
  size_t forget_at_;
  uint64_t random_;
};

// The packets of these sizes are what a link is made for: an Ethernet's MTU.
constexpr int kMtu = 1500;

}  // namespace sluice::bench::link

#endif  // SLUICE_BENCH_LINK_LINK_MODEL_H_
