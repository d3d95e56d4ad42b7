#ifndef SLUICE_RELAY_SESSION_TABLE_H_
#define SLUICE_RELAY_SESSION_TABLE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "relay/session.h"

namespace sluice::relay {

// A worker's sessions, in slots that never move. A session is named by (slot, generation): a stale name finds nothing,
// so an event or a timer of a session that has ended is harmless.
//
// Slots come in chunks of 64 and are used again, last freed first; chunks are not given back.
//
// Worker only.
class SessionTable {
 public:
  static constexpr uint32_t kChunk = 64;
  static constexpr uint32_t kGenerationMask = 0xffffff;  // 24 bits travel in a token

  // A fresh session with its slot and generation set; null when there is no memory.
  Session* Allocate();
  // The session and all it owns are destroyed; its name is stale from now on.
  void Free(Session& session);

  // Null for a stale name.
  Session* Find(uint32_t slot, uint32_t generation) {
    if (slot >= capacity()) return nullptr;
    Session& session = At(slot);
    return session.generation == generation && session.stage != SessionStage::kFree ? &session : nullptr;
  }
  // Whatever is in the slot. REQUIRES: slot < capacity().
  Session& At(uint32_t slot) { return chunks_[slot / kChunk][slot % kChunk]; }

  uint32_t capacity() const { return static_cast<uint32_t>(chunks_.size()) * kChunk; }
  int used() const { return used_; }

 private:
  std::vector<std::unique_ptr<Session[]>> chunks_;
  std::vector<uint32_t> free_;
  int used_ = 0;
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_SESSION_TABLE_H_
