#ifndef SLUICE_RELAY_RELAY_OPTIONS_H_
#define SLUICE_RELAY_RELAY_OPTIONS_H_

#include <cstdint>

#include "sys/thread/clock.h"

namespace sluice::relay {

// `-s[MODE][:MIN,STREAK,SMALL]`: which directions splice, and when.
struct SpliceOptions {
  bool from_upstream = true;  // bit 0 of MODE: downloads
  bool from_client = true;    // bit 1 of MODE: uploads
  bool automatic = true;      // bit 2 of MODE: only where it pays; without it, always
  int min_bytes = 16384;      // a read of at least this much speaks for splicing
  int streak = 2;             // so many such reads in a row start it; more than so many small splices in a row end it
  int small_bytes = 4096;     // a splice under this is small; also the threshold of reads from a TLS socket
};

// `-gTRAFF,NUM,DELAY`: waiting a little before a read, so that one read takes what several would have.
struct GraceOptions {
  int traffic_bytes = 0;  // TRAFF: average read at which the wait begins
  int reads = 0;          // NUM: so many reads in a row, in one direction, within one second; 0 = no grace delay
  int delay_millis = 0;   // DELAY

  bool enabled() const { return reads > 0 && delay_millis > 0; }
};

// How the sessions of one service move their bytes. Part of the configuration snapshot; immutable; it must outlive the
// session, which the session's observer sees to by holding the snapshot.
//
// The times are those of `timeouts`. Thread-compatible.
struct RelayOptions {
  SpliceOptions splice;
  GraceOptions grace;
  // `-b`: the most that one copying read takes. 0 = 64 KB, but 16 KB while a direction is grace-delayed or after a send
  // that the kernel took in part.
  int read_bytes = 0;
  // False is `-C`: the first end of either side ends the session once its bytes are delivered.
  bool half_close = true;

  int64_t connect_nanos = 15 * sys::kNanosPerSecond;            // CONNECT
  int64_t idle_nanos = 1800 * sys::kNanosPerSecond;             // CONNECTION_LONG
  int64_t half_closed_idle_nanos = 180 * sys::kNanosPerSecond;  // CONNECTION_SHORT: once one side has ended
  int64_t linger_nanos = 5 * sys::kNanosPerSecond;              // LINGER: the tail after the end

  // `logdump`: SessionObserver::OnProgress each time a direction has moved this many bytes. 0 = never.
  int64_t report_bytes_from_upstream = 0;
  int64_t report_bytes_from_client = 0;
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_RELAY_OPTIONS_H_
