#include "relay/session_table.h"

#include <new>

#include "relay/connecting.h"

namespace sluice::relay {

Session* SessionTable::Allocate() {
  if (free_.empty()) {
    std::unique_ptr<Session[]> chunk(new (std::nothrow) Session[kChunk]);
    if (chunk == nullptr) return nullptr;
    const uint32_t first = capacity();
    for (uint32_t i = kChunk; i-- > 0;) {
      chunk[i].slot = first + i;
      free_.push_back(first + i);
    }
    chunks_.push_back(std::move(chunk));
  }
  Session& session = At(free_.back());
  free_.pop_back();
  ++used_;
  return &session;
}

void SessionTable::Free(Session& session) {
  const uint32_t slot = session.slot;
  const uint32_t generation = (session.generation + 1) & kGenerationMask;
  // The place in the budget is given back while the observer still holds the snapshot that the budget belongs to.
  session.admission.Return();
  session.~Session();
  new (&session) Session;
  session.slot = slot;
  session.generation = generation;
  free_.push_back(slot);
  --used_;
}

}  // namespace sluice::relay
