#ifndef SLUICE_RELAY_TIMER_WHEEL_H_
#define SLUICE_RELAY_TIMER_WHEEL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::relay {

// A worker's timers: idle, connect, linger, grace delay, pace. Hierarchical, 4 levels of 64 slots, one tick a
// millisecond. Arming and disarming touch one list each; a tick that has nothing costs nothing (a bitmap a level finds
// the next one).
//
// Timers are numbers, not objects: the worker uses three numbers a session slot. A timer costs 16 bytes.
//
// A timer never fires early; it fires in the first Advance() at or after its tick. The reach is kReachTicks (4.6
// hours): one armed for later fires then, and its owner, who must compare with its own deadline anyway (idle times move
// with each byte), arms it again. Ticks are 32 bits and wrap after 49 days, which the arithmetic bears.
//
// Worker only.
class TimerWheel {
 public:
  using Id = uint32_t;
  using Tick = uint32_t;

  static constexpr int kLevels = 4;
  static constexpr int kSlotBits = 6;
  static constexpr int kSlots = 1 << kSlotBits;
  static constexpr Tick kReachTicks = (Tick{1} << (kLevels * kSlotBits)) - 1;

  explicit TimerWheel(Tick now);

  // Makes room for the ids 0 .. count-1.
  void Reserve(Id count);

  // Fires at `when`, or at the next tick if that is past. Re-arms an armed one. REQUIRES: id < reserved count.
  void Arm(Id id, Tick when);
  void Disarm(Id id);
  bool armed(Id id) const { return At(id).slot != kIdle; }

  // Moves to `now` and appends the ids that are due, now disarmed, to `due`.
  void Advance(Tick now, std::vector<Id>& due);

  // Ticks until something may be due: 0 = at once, -1 = nothing is armed. May be earlier than the first timer (when
  // timers move a level down), never later.
  int64_t TicksToNext() const;

  Tick now() const { return now_; }
  int armed_count() const { return armed_count_; }

 private:
  static constexpr uint32_t kNil = 0xffffffff;
  static constexpr uint16_t kIdle = 0xffff;

  struct Node {
    uint32_t next = kNil;
    uint32_t previous = kNil;  // kNil for the first of its list
    Tick when = 0;
    uint16_t slot = kIdle;  // level * kSlots + slot
  };

  // In chunks: growing moves nothing and leaves no old copy behind.
  static constexpr Id kChunk = 256;
  Node& At(Id id) { return chunks_[id / kChunk][id % kChunk]; }
  const Node& At(Id id) const { return chunks_[id / kChunk][id % kChunk]; }
  void Link(Id id);
  void Unlink(Id id);
  void Cascade(int level);

  Tick now_;
  int armed_count_ = 0;
  std::vector<std::unique_ptr<Node[]>> chunks_;
  std::array<uint32_t, kLevels * kSlots> heads_;
  std::array<uint64_t, kLevels> occupied_{};
};

}  // namespace sluice::relay

#endif  // SLUICE_RELAY_TIMER_WHEEL_H_
