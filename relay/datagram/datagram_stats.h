#ifndef SLUICE_RELAY_DATAGRAM_DATAGRAM_STATS_H_
#define SLUICE_RELAY_DATAGRAM_DATAGRAM_STATS_H_

#include "sys/stats/counter.h"

namespace sluice::relay {

// What the datagram relays of one worker count; written by the worker, read by anyone. Each datagram that is received
// and not sent is in exactly one of the dropped_*.
struct DatagramStats {
  sys::Counter running;  // associations and mapped sessions
  sys::Counter received;
  sys::Counter sent;
  sys::Counter dropped_malformed;    // no envelope, a fragment, no destination
  sys::Counter dropped_foreign;      // not from the client whose association it is
  sys::Counter dropped_denied;       // the layer above said no, or the name has no address
  sys::Counter dropped_parked;       // waited for a name beyond what may wait
  sys::Counter dropped_full;         // the kernel's send buffer was full
  sys::Counter dropped_unsendable;   // EMSGSIZE, EACCES, ENETUNREACH, ...: this one and not the next
  sys::Counter dropped_no_resource;  // no socket or memory for it
  sys::Counter receive_calls;
  sys::Counter send_calls;
  sys::Counter segmented;  // datagrams that were sent as part of a larger one (UDP_SEGMENT)
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_DATAGRAM_DATAGRAM_STATS_H_
