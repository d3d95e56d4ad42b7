#ifndef SLUICE_SYS_LOOP_WATCH_TABLE_H_
#define SLUICE_SYS_LOOP_WATCH_TABLE_H_

#include <cassert>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "sys/loop/loop.h"
#include "sys/ring/op_tag.h"

namespace sluice::sys {

// The watches of one loop: what both implementations of Loop know about each descriptor. Slots are found by number,
// freed ones are used again (last in, first out: their memory is warm), and each use has a generation of its own.
//
// Grows in chunks, so a watch never moves and growing never copies; memory is kept for the next connections and given
// back with the table.
//
// Thread-compatible; in a loop: worker only.
class WatchTable {
 public:
  enum class State : uint8_t {
    kFree,
    kUnarmed,    // the kernel does not know of it (yet, or any more)
    kArmed,      // the kernel reports it
    kReleasing,  // Release() was called, kReleased has not been given out
  };

  struct Watch {
    Loop::Token token;
    int fd;
    uint32_t next_free;
    uint32_t generation : 24;
    Loop::Interest interest;  // the fourth byte
    State state;
  };
  static_assert(sizeof(Watch) <= 24);

  static constexpr uint32_t kNone = 0xffffffff;
  static constexpr uint32_t kChunkBits = 9;
  static constexpr uint32_t kChunk = 1u << kChunkBits;  // 512 watches, 12 KB

  // A slot for a new watch in state kUnarmed, or kNone when memory is short.
  uint32_t Take(int fd, Loop::Token token, Loop::Interest interest) {
    if (first_free_ == kNone && !Grow()) return kNone;
    const uint32_t slot = first_free_;
    Watch& watch = (*this)[slot];
    first_free_ = watch.next_free;
    watch.token = token;
    watch.fd = fd;
    watch.interest = interest;
    watch.state = State::kUnarmed;
    ++used_;
    return slot;
  }

  // Ends this use of the slot: what is still on its way for it is stale from now on.
  void Free(uint32_t slot) {
    Watch& watch = (*this)[slot];
    assert(watch.state != State::kFree);
    watch.state = State::kFree;
    Renew(slot);
    watch.next_free = first_free_;
    first_free_ = slot;
    --used_;
  }

  // Makes what is still on its way for the slot stale, and keeps the watch.
  void Renew(uint32_t slot) {
    Watch& watch = (*this)[slot];
    watch.generation = (watch.generation + 1) & OpTag::kGenerationMask;
  }

  // REQUIRES: slot < capacity().
  Watch& operator[](uint32_t slot) { return chunks_[slot >> kChunkBits][slot & (kChunk - 1)]; }

  // The watch that `tag` was made for, or null when that one is gone.
  Watch* Find(OpTag tag) {
    if (tag.slot >= capacity()) return nullptr;
    Watch& watch = (*this)[tag.slot];
    return watch.state != State::kFree && watch.generation == tag.generation ? &watch : nullptr;
  }

  uint64_t Tag(uint32_t slot, OpKind kind = OpKind::kWatch) {
    return OpTag{kind, (*this)[slot].generation, slot}.Pack();
  }

  int used() const { return used_; }
  uint32_t capacity() const { return static_cast<uint32_t>(chunks_.size()) << kChunkBits; }

 private:
  bool Grow() {
    std::unique_ptr<Watch[]> chunk(new (std::nothrow) Watch[kChunk]());
    if (chunk == nullptr || chunks_.size() >= (kNone >> kChunkBits)) return false;
    const uint32_t first = capacity();
    for (uint32_t i = 0; i < kChunk; ++i) chunk[i].next_free = i + 1 < kChunk ? first + i + 1 : first_free_;
    chunks_.push_back(std::move(chunk));
    first_free_ = first;
    return true;
  }

  std::vector<std::unique_ptr<Watch[]>> chunks_;
  uint32_t first_free_ = kNone;
  int used_ = 0;
};

}  // namespace sluice::sys

#endif  // SLUICE_SYS_LOOP_WATCH_TABLE_H_
