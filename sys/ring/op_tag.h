#ifndef SLUICE_SYS_RING_OP_TAG_H_
#define SLUICE_SYS_RING_OP_TAG_H_

#include <cstdint>

namespace sluice::sys {

// The 64 bits that come back with a completion (io_uring's user_data, epoll's data): whose it is, which use of that
// slot it belongs to, and what was asked.
//
//   63    56 55         32 31            0
//   | kind  | generation  |     slot     |
//
// Not the descriptor's number: that is given away again as soon as it is closed, and a late completion would then hit
// the connection that has just been given it. A slot is given away again too, but with another generation, so its late
// completions are told apart. 24 bits: a slot would have to be reused 16 million times while one completion is on its
// way.
enum class OpKind : uint8_t {
  kWatch = 1,   // readiness of a watched descriptor
  kCancel = 2,  // the outcome of a cancellation; kept apart so that it is never taken for readiness
  kWake = 3,    // another thread wants the worker
};

struct OpTag {
  static constexpr uint32_t kGenerationMask = (1u << 24) - 1;

  OpKind kind;
  uint32_t generation;  // 24 bits
  uint32_t slot;

  constexpr uint64_t Pack() const {
    return static_cast<uint64_t>(kind) << 56 | static_cast<uint64_t>(generation & kGenerationMask) << 32 | slot;
  }
  static constexpr OpTag Unpack(uint64_t bits) {
    return {static_cast<OpKind>(bits >> 56), static_cast<uint32_t>(bits >> 32) & kGenerationMask,
            static_cast<uint32_t>(bits)};
  }
};

}  // namespace sluice::sys

#endif  // SLUICE_SYS_RING_OP_TAG_H_
