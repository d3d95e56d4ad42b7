#ifndef SLUICE_RELAY_END_REASON_H_
#define SLUICE_RELAY_END_REASON_H_

#include <cstdint>

namespace sluice::relay {

// What ended a session. The log turns it into 3proxy's number and a stable name (protocols/accounting/result_code.h).
enum class EndCode : uint8_t {
  kFinished,        // both directions ended by themselves (or one did, under -C), everything was delivered
  kConnectFailed,   // no candidate address could be connected; errno of the last one (ECONNREFUSED, EHOSTUNREACH, ...)
  kConnectTimeout,  // the time for connecting ran out
  kIdleTimeout,     // no byte moved for the idle time
  kReadFailed,      // reading a leg failed: reset by its owner (ECONNRESET), timed out (ETIMEDOUT), ...
  kWriteFailed,     // writing a leg failed (EPIPE, ECONNRESET)
  kUnsentData,      // the time to deliver the tail ran out with bytes unsent
  kLimitReached,    // a byte budget was used up
  kShutDown,        // the process is ending and the drain time is over
  kRevoked,         // a reload says that this session is no longer allowed
  kNoResources,     // descriptors or memory ran out while the session was set up
};

// Whose doing it was.
enum class EndSide : uint8_t { kUs, kClient, kUpstream };

struct EndReason {
  EndCode code = EndCode::kFinished;
  EndSide side = EndSide::kUs;
  int error = 0;  // errno, positive; 0 when no system call failed
};

const char* EndCodeName(EndCode code);

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_END_REASON_H_
