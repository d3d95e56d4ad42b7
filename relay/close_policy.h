#ifndef SLUICE_RELAY_CLOSE_POLICY_H_
#define SLUICE_RELAY_CLOSE_POLICY_H_

#include <cstdint>

#include "relay/flow.h"

namespace sluice::relay {

// What is known of a leg when its session is to be closed.
enum class LegState : uint8_t {
  kOpen,    // its end has not been seen: more may arrive
  kEnded,   // its orderly end (FIN) was read
  kBroken,  // it failed: nothing can be read or written any more
};

// How a leg is closed.
enum class CloseKind : uint8_t {
  kClose,    // close(2): what is in the kernel's send queue is still delivered, then FIN
  kDiscard,  // its end is still to come: shut our side, read and discard what arrives until the end or LINGER, then
             // close. A plain close with unread input would send a reset, which destroys the tail that the other side
             // has not read
  kReset,    // the other leg is gone: pass the abort on as a reset, once what is in the send queue has been taken (a
             // reset destroys it) or LINGER is over
};

// How each leg is closed once both flows have ended; relay/README.md has the table with its reasons. Pure.
//
//   leg      other leg           -> close
//   kBroken  any                 -> kClose (nothing can be saved)
//   kEnded   kBroken, gone       -> kReset (the end that we would pass on is none)
//   kEnded   anything else       -> kClose
//   kOpen    kOpen or kEnded     -> kDiscard
//   kOpen    kBroken, gone       -> kReset
//   kOpen    kBroken, not gone   -> kDiscard: it refused our bytes but had its say, which must arrive whole (an answer
//                                   that comes before the upload ends)
constexpr CloseKind CloseKindOf(LegState leg, LegState other, bool other_is_gone) {
  if (leg == LegState::kBroken) return CloseKind::kClose;
  if (other == LegState::kBroken && other_is_gone) return CloseKind::kReset;
  return leg == LegState::kEnded ? CloseKind::kClose : CloseKind::kDiscard;
}

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_CLOSE_POLICY_H_
