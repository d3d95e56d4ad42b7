#include "relay/flow.h"

namespace sluice::relay {

const char* FlowStateName(FlowState state) {
  switch (state) {
    case FlowState::kReading:
      return "reading";
    case FlowState::kHolding:
      return "holding";
    case FlowState::kFlushing:
      return "flushing";
    case FlowState::kEnded:
      return "ended";
  }
  return "?";
}

}  // namespace sluice::relay
