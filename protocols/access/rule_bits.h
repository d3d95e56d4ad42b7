#ifndef SLUICE_PROTOCOLS_ACCESS_RULE_BITS_H_
#define SLUICE_PROTOCOLS_ACCESS_RULE_BITS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sluice::access {

// Sets of rule numbers, each the rules that one key (a user, a prefix, a port, ...) makes match. They are read block by
// block, 1024 rules at a time. A set with rules in few places keeps those words alone (a user named in three of thirty
// thousand rules costs three), any other is a plain bitmap.
//
// Thread-compatible; immutable once all sets are there.
class RuleBits {
 public:
  using SetId = uint32_t;
  static constexpr uint32_t kBlockWords = 16;
  static constexpr uint32_t kBlockRules = kBlockWords * 64;
  static constexpr uint32_t kNoBlock = std::numeric_limits<uint32_t>::max();
  using Block = std::array<uint64_t, kBlockWords>;

  // Bit b is rule 64 * index + b.
  struct Word {
    uint32_t index = 0;
    uint64_t bits = 0;
  };

  // For rules 0 to `rules` - 1.
  explicit RuleBits(size_t rules) : blocks_(static_cast<uint32_t>((rules + kBlockRules - 1) / kBlockRules)) {}

  // `rules`: ascending, may repeat.
  SetId Add(const std::vector<uint32_t>& rules);
  // How many words have to be looked at: what a walk along this set costs.
  size_t WordsOf(SetId set) const { return sets_[set].count; }
  // For the last time.
  void ShrinkToFit();

  // Walks one set upwards.
  class Cursor {
   public:
    Cursor(const RuleBits& bits, SetId set);

    // The first block from `from` on that may have rules, or kNoBlock. `from` must not be smaller than before.
    uint32_t SkipTo(uint32_t from);
    // The rules of this block where they lie at hand, else null.
    const uint64_t* BitmapOf(uint32_t block) const {
      return bitmap_ == nullptr ? nullptr : bitmap_ + size_t{block} * kBlockWords;
    }
    // Adds the rules of this block.
    void OrInto(uint32_t block, Block& out);

   private:
    // One of the two.
    const uint64_t* bitmap_ = nullptr;
    uint32_t blocks_ = 0;
    const Word* next_ = nullptr;
    const Word* end_ = nullptr;
  };

 private:
  struct Set {
    uint32_t first = 0;  // in bitmaps_ or words_
    uint32_t count = 0;
    bool is_bitmap = false;
  };
  const uint32_t blocks_;
  std::vector<uint64_t> bitmaps_;
  std::vector<Word> words_;
  std::vector<Set> sets_;
};

}  // namespace sluice::access

#endif  // SLUICE_PROTOCOLS_ACCESS_RULE_BITS_H_
