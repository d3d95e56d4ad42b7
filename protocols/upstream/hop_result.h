#ifndef SLUICE_PROTOCOLS_UPSTREAM_HOP_RESULT_H_
#define SLUICE_PROTOCOLS_UPSTREAM_HOP_RESULT_H_

#include <string>

#include "protocols/accounting/result_code.h"
#include "protocols/upstream/hop_handshake.h"
#include "protocols/upstream/parent_list.h"

namespace sluice::upstream {

// What a parent's failure means: for the record, for the client, and for the parent's good name.
struct HopVerdict {
  accounting::ResultCode result;
  int error = 0;                    // the errno that stands for the reason; 0: none does
  std::string what;                 // "refuses (5: connection refused)": what follows the parent's name
  bool parent_is_at_fault = false;  // another one may do better; this one is passed over for a while
  bool next_is_at_fault = false;    // what it was asked for cannot be reached
};

// Of a handshake that ended in kFailed.
HopVerdict JudgeFault(const Parent& parent, const HopHandshake& handshake);
// Of a connection that ended (error 0) or failed in the middle of it, or was silent for too long (ETIMEDOUT).
HopVerdict JudgeSilence(const Parent& parent, const HopHandshake& handshake, int error);

// Whether the parent is given names where there are some. All are pure and thread-safe.
bool PassesName(const Parent& parent);

}  // namespace sluice::upstream

#endif  // SLUICE_PROTOCOLS_UPSTREAM_HOP_RESULT_H_
