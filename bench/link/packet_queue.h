#ifndef SLUICE_BENCH_LINK_PACKET_QUEUE_H_
#define SLUICE_BENCH_LINK_PACKET_QUEUE_H_

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/strings/string_view.h"
#include "bench/link/link_model.h"
#include "sys/thread/clock.h"

namespace sluice::bench::link {

// The packets that are under way, by the time they arrive; equal times in the order they came. Bounded: at most `most`
// packets of at most kMtu bytes, in memory that grows with the number and is kept. Pure; Thread-compatible.
class PacketQueue {
 public:
  explicit PacketQueue(size_t most) : most_(most) {}

  // False when there is no room. REQUIRES: bytes.size() <= kMtu.
  bool Push(absl::string_view bytes, int direction, sys::MonotonicNanos arrival);

  bool empty() const { return heap_.empty(); }
  size_t size() const { return heap_.size(); }
  // When the next one arrives. REQUIRES: !empty().
  sys::MonotonicNanos NextArrival() const { return heap_.front().arrival; }
  struct Packet {
    absl::string_view bytes;  // until Pop()
    int direction;
  };
  Packet Front() const;  // REQUIRES: !empty().
  void Pop();            // REQUIRES: !empty().

 private:
  struct Place {
    std::array<char, kMtu> bytes;
    uint16_t size;
    uint8_t direction;
  };
  struct Entry {
    sys::MonotonicNanos arrival;
    uint64_t number;
    uint32_t place;
    // For a heap whose first is the earliest.
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.arrival != b.arrival ? a.arrival > b.arrival : a.number > b.number;
    }
  };

  const size_t most_;
  uint64_t pushed_ = 0;
  std::vector<Entry> heap_;
  std::deque<Place> places_;
  std::vector<uint32_t> free_;
};

}  // namespace sluice::bench::link

#endif  // SLUICE_BENCH_LINK_PACKET_QUEUE_H_
