#ifndef SLUICE_RELAY_FLOW_H_
#define SLUICE_RELAY_FLOW_H_

#include <cstdint>

namespace sluice::relay {

// One direction of a session: bytes are taken from its source leg and given to its sink leg.
//
//                  kTaken                                     kTaken: everything taken was delivered
//                  +---+                                      kRestLeft: the sink took only a part; the rest is held in
//                  a v   |                                                 buffer or in the flow's pipe
//        +-------------------+  kRestLeft   +-------------------+  kRestLeft
//   ---> | kReading          |------------->| kHolding          |---+
//        | holds nothing     |<-------------| holds a rest;     |<--+
//        +-------------------+  kRestGone   | source not read   |
//          |            |                   +-------------------+
//          | kSourceEnd |                     |            |
//          |            |                     | kSourceEnd |
//          | (shut the  |   kRestGone         v            |
//          |  sink)     |  (shut the   +-------------------+
//          |            |   sink)      | kFlushing         |---+ kRestLeft
//          |            |   +----------| holds the last    |<--+
//          |            |   |          | rest              |
//          |  kAbandon  |   |          +-------------------+
//          v            v   v                 | kAbandon (the rest is dropped)
//        +-------------------+                |
//        | kEnded            |<---------------+
//        | holds nothing     |
//        +-------------------+
//
// The machine is pure: the worker does what `action` says. The source is read in kReading only, and only while it is
// ready, the sink is not blocked and no delay runs; so a flow holds at most what one read took, and a slow sink stops
// its source by the window of the kernel and nothing else.
enum class FlowState : uint8_t { kReading, kHolding, kFlushing, kEnded };

enum class FlowEvent : uint8_t {
  kTaken,      // bytes were taken and delivered
  kRestLeft,   // bytes were taken, or tried again, and some are still held
  kRestGone,   // the held bytes have been delivered
  kSourceEnd,  // the source's orderly end (recv or splice gave 0), or no more is to be read from it
  kAbandon,    // the sink is broken, or the session gives the direction up
};

enum class FlowAction : uint8_t {
  kNone,
  kShutSink,  // pass the end on: shutdown(SHUT_WR) of the sink, after the last byte
  kDropRest,  // let go of what is held
};

struct FlowStep {
  FlowState state;
  FlowAction action;
};

// REQUIRES: an event that the state can see: no kRestGone without a rest, no kTaken while one is held.
constexpr FlowStep NextFlowStep(FlowState state, FlowEvent event) {
  switch (state) {
    case FlowState::kReading:
      switch (event) {
        case FlowEvent::kTaken:
        case FlowEvent::kRestGone:
          return {FlowState::kReading, FlowAction::kNone};
        case FlowEvent::kRestLeft:
          return {FlowState::kHolding, FlowAction::kNone};
        case FlowEvent::kSourceEnd:
          return {FlowState::kEnded, FlowAction::kShutSink};
        case FlowEvent::kAbandon:
          return {FlowState::kEnded, FlowAction::kNone};
      }
      break;
    case FlowState::kHolding:
      switch (event) {
        case FlowEvent::kTaken:
        case FlowEvent::kRestLeft:
          return {FlowState::kHolding, FlowAction::kNone};
        case FlowEvent::kRestGone:
          return {FlowState::kReading, FlowAction::kNone};
        case FlowEvent::kSourceEnd:
          return {FlowState::kFlushing, FlowAction::kNone};
        case FlowEvent::kAbandon:
          return {FlowState::kEnded, FlowAction::kDropRest};
      }
      break;
    case FlowState::kFlushing:
      switch (event) {
        case FlowEvent::kTaken:
        case FlowEvent::kRestLeft:
        case FlowEvent::kSourceEnd:
          return {FlowState::kFlushing, FlowAction::kNone};
        case FlowEvent::kRestGone:
          return {FlowState::kEnded, FlowAction::kShutSink};
        case FlowEvent::kAbandon:
          return {FlowState::kEnded, FlowAction::kDropRest};
      }
      break;
    case FlowState::kEnded:
      break;
  }
  return {FlowState::kEnded, FlowAction::kNone};
}

constexpr bool HoldsRest(FlowState state) { return state == FlowState::kHolding || state == FlowState::kFlushing; }

const char* FlowStateName(FlowState state);

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_FLOW_H_
