#include "protocols/access/rule_bits.h"

#include <algorithm>

namespace sluice::access {

RuleBits::SetId RuleBits::Add(const std::vector<uint32_t>& rules) {
  Set set{static_cast<uint32_t>(words_.size()), 0, false};
  for (const uint32_t rule : rules) {
    if (set.count == 0 || words_.back().index != rule / 64) {
      words_.push_back({rule / 64, 0});
      ++set.count;
    }
    words_.back().bits |= uint64_t{1} << (rule % 64);
  }
  // From one word in four on, a bitmap takes no more room and is faster.
  if (set.count > 0 && set.count >= blocks_ * kBlockWords / 4) {
    const size_t first = bitmaps_.size();
    bitmaps_.resize(first + size_t{blocks_} * kBlockWords);
    for (size_t i = set.first; i < words_.size(); ++i) bitmaps_[first + words_[i].index] = words_[i].bits;
    words_.resize(set.first);
    set = {static_cast<uint32_t>(first / kBlockWords), blocks_ * kBlockWords, true};
  }
  sets_.push_back(set);
  return static_cast<SetId>(sets_.size() - 1);
}

void RuleBits::ShrinkToFit() {
  bitmaps_.shrink_to_fit();
  words_.shrink_to_fit();
  sets_.shrink_to_fit();
}

RuleBits::Cursor::Cursor(const RuleBits& bits, SetId set_id) {
  const Set& set = bits.sets_[set_id];
  if (set.is_bitmap) {
    bitmap_ = bits.bitmaps_.data() + size_t{set.first} * kBlockWords;
    blocks_ = bits.blocks_;
  } else {
    next_ = bits.words_.data() + set.first;
    end_ = next_ + set.count;
  }
}

uint32_t RuleBits::Cursor::SkipTo(uint32_t from) {
  if (bitmap_ != nullptr) return from < blocks_ ? from : kNoBlock;
  const uint32_t first = from * kBlockWords;
  if (next_ != end_ && next_->index < first) {
    // Gallops: what is looked for is mostly near, but may be far.
    size_t step = 1;
    while (step < static_cast<size_t>(end_ - next_) && next_[step].index < first) step *= 2;
    const Word* const most = std::min(next_ + step, end_);
    next_ = std::lower_bound(next_ + step / 2, most, first, [](const Word& w, uint32_t i) { return w.index < i; });
  }
  return next_ == end_ ? kNoBlock : next_->index / kBlockWords;
}

void RuleBits::Cursor::OrInto(uint32_t block, Block& out) {
  if (bitmap_ != nullptr) {
    const uint64_t* const words = bitmap_ + size_t{block} * kBlockWords;
    for (uint32_t i = 0; i < kBlockWords; ++i) out[i] |= words[i];
    return;
  }
  if (SkipTo(block) != block) return;
  const uint32_t first = block * kBlockWords;
  for (; next_ != end_ && next_->index - first < kBlockWords; ++next_) out[next_->index - first] |= next_->bits;
}

}  // namespace sluice::access
