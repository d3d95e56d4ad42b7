#include "relay/timer_wheel.h"

#include <algorithm>
#include <bit>

namespace sluice::relay {
namespace {

constexpr uint32_t kSlotMask = TimerWheel::kSlots - 1;

// How many slots after `from` (exclusive) the next occupied one is, going round; 1..64. REQUIRES: occupied != 0.
int DistanceToOccupied(uint64_t occupied, uint32_t from) {
  return std::countr_zero(std::rotr(occupied, static_cast<int>((from + 1) & kSlotMask))) + 1;
}

}  // namespace

TimerWheel::TimerWheel(Tick now) : now_(now) { heads_.fill(kNil); }

void TimerWheel::Reserve(Id count) {
  while (chunks_.size() * kChunk < count) chunks_.push_back(std::make_unique<Node[]>(kChunk));
}

void TimerWheel::Link(Id id) {
  Node& node = At(id);
  const Tick delta = node.when - now_;
  int level = 0;
  while (level + 1 < kLevels && delta >= (Tick{1} << ((level + 1) * kSlotBits))) ++level;
  const uint32_t slot = (node.when >> (level * kSlotBits)) & kSlotMask;
  node.slot = static_cast<uint16_t>(level * kSlots + slot);
  node.previous = kNil;
  node.next = heads_[node.slot];
  if (node.next != kNil) At(node.next).previous = id;
  heads_[node.slot] = id;
  occupied_[level] |= uint64_t{1} << slot;
}

void TimerWheel::Unlink(Id id) {
  Node& node = At(id);
  if (node.previous != kNil) {
    At(node.previous).next = node.next;
  } else {
    heads_[node.slot] = node.next;
    if (node.next == kNil) occupied_[node.slot / kSlots] &= ~(uint64_t{1} << (node.slot % kSlots));
  }
  if (node.next != kNil) At(node.next).previous = node.previous;
  node.slot = kIdle;
}

void TimerWheel::Arm(Id id, Tick when) {
  Node& node = At(id);
  if (node.slot != kIdle) {
    if (node.when == when) return;
    Unlink(id);
  } else {
    ++armed_count_;
  }
  const int32_t delta = static_cast<int32_t>(when - now_);
  node.when = delta <= 0 ? now_ + 1 : now_ + std::min<Tick>(static_cast<Tick>(delta), kReachTicks);
  Link(id);
}

void TimerWheel::Disarm(Id id) {
  if (At(id).slot == kIdle) return;
  Unlink(id);
  --armed_count_;
}

// Brings the timers of the slot of `level` that now_ has just entered one or more levels down.
void TimerWheel::Cascade(int level) {
  const uint32_t slot = (now_ >> (level * kSlotBits)) & kSlotMask;
  uint32_t id = heads_[level * kSlots + slot];
  heads_[level * kSlots + slot] = kNil;
  occupied_[level] &= ~(uint64_t{1} << slot);
  while (id != kNil) {
    const uint32_t next = At(id).next;
    Link(id);
    id = next;
  }
}

void TimerWheel::Advance(Tick now, std::vector<Id>& due) {
  while (now_ != now && static_cast<int32_t>(now - now_) > 0) {
    if (armed_count_ == 0) {
      now_ = now;
      return;
    }
    // To the next occupied slot of level 0, the next place where timers move down, or the goal, whichever comes first.
    const Tick to_boundary = kSlots - (now_ & kSlotMask);
    Tick step = std::min<Tick>(to_boundary, now - now_);
    if (occupied_[0] != 0) step = std::min<Tick>(step, DistanceToOccupied(occupied_[0], now_ & kSlotMask));
    now_ += step;
    for (int level = 1; level < kLevels && (now_ & ((Tick{1} << (level * kSlotBits)) - 1)) == 0; ++level)
      Cascade(level);
    const uint32_t slot = now_ & kSlotMask;
    while (heads_[slot] != kNil) {
      const Id id = heads_[slot];
      Unlink(id);
      --armed_count_;
      due.push_back(id);
    }
  }
}

int64_t TimerWheel::TicksToNext() const {
  if (armed_count_ == 0) return -1;
  int64_t best = kReachTicks;
  if (occupied_[0] != 0) best = DistanceToOccupied(occupied_[0], now_ & kSlotMask);
  for (int level = 1; level < kLevels; ++level) {
    if (occupied_[level] == 0) continue;
    const int shift = level * kSlotBits;
    const int64_t slots_ahead = DistanceToOccupied(occupied_[level], (now_ >> shift) & kSlotMask);
    const int64_t entered = ((int64_t{now_} >> shift) + slots_ahead) << shift;
    best = std::min(best, entered - int64_t{now_});
  }
  return best;
}

}  // namespace sluice::relay
