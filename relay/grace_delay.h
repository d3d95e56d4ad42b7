#ifndef SLUICE_RELAY_GRACE_DELAY_H_
#define SLUICE_RELAY_GRACE_DELAY_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "relay/relay_options.h"
#include "sys/thread/clock.h"

namespace sluice::relay {

// `-gTRAFF,NUM,DELAY`: a stream of many small packets is read less often, so that each read takes several of them.
// Pure: reads go in, "wait before the next one" comes out; the worker's timer wheel does the waiting.
//
// Once NUM reads in a row in one direction, within the same second, average TRAFF bytes or less, each next read of that
// direction waits DELAY milliseconds. The counts restart every second and when the other direction is read (a dialogue
// is not a stream), and the wait stops as soon as the reads average more.
//
// Thread-compatible.
class GraceDelay {
 public:
  // A read of `bytes` at `now`. True: wait before the next one.
  bool OnRead(const GraceOptions& options, int64_t bytes, sys::MonotonicNanos now) {
    const uint32_t second = static_cast<uint32_t>(now / sys::kNanosPerSecond);
    if (second != second_) {
      second_ = second;
      reads_ = 0;
      bytes_ = 0;
    }
    ++reads_;
    bytes_ = static_cast<uint32_t>(std::min<int64_t>(std::numeric_limits<uint32_t>::max(), bytes_ + bytes));
    return reads_ >= static_cast<uint32_t>(options.reads) && int64_t{bytes_} <= int64_t{reads_} * options.traffic_bytes;
  }

  void OnOtherDirectionRead() {
    reads_ = 0;
    bytes_ = 0;
  }

 private:
  uint32_t second_ = 0;
  uint32_t reads_ = 0;
  uint32_t bytes_ = 0;  // stays at its most: 4 GB in a second is no small packet stream
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_GRACE_DELAY_H_
