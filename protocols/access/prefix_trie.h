#ifndef SLUICE_PROTOCOLS_ACCESS_PREFIX_TRIE_H_
#define SLUICE_PROTOCOLS_ACCESS_PREFIX_TRIE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/string_view.h"

namespace sluice::access {

// Strings of bits, each with a number, and the question which of them a given string begins with: the CIDR blocks
// around an address, the patterns x* of a name, the binary blocks that spans of ports and times are made of. A
// path-compressed binary trie: a look-up visits one node for each place where two stored strings part.
//
// Thread-compatible; immutable once all is there.
class PrefixTrie {
 public:
  PrefixTrie() : nodes_(1) {}

  // The number of the first `bits` bits of `key` (most significant first), kNone when they are new: then `fresh` is
  // theirs. REQUIRES: bits <= 8 * key.size().
  static constexpr int32_t kNone = -1;
  int32_t FindOrAdd(absl::string_view key, uint32_t bits, int32_t fresh);

  // visit(number, bits) for everything stored that `key` begins with, the shortest first.
  template <typename Visit>
  void ForEachPrefixOf(absl::string_view key, Visit visit) const {
    const uint32_t key_bits = static_cast<uint32_t>(8 * key.size());
    for (uint32_t at = 0;;) {
      const Node& node = nodes_[at];
      if (node.number != kNone) visit(node.number, node.bits);
      if (node.bits >= key_bits) return;
      const uint32_t next = node.child[BitOf(key, node.bits)];
      if (next == 0 || nodes_[next].bits > key_bits) return;
      if (CommonBits(key, KeyOf(nodes_[next]), node.bits, nodes_[next].bits) < nodes_[next].bits) return;
      at = next;
    }
  }

  bool empty() const { return nodes_.size() == 1 && nodes_[0].number == kNone; }

 private:
  struct Node {
    uint32_t bits = 0;
    uint32_t key = 0;  // where it begins in keys_
    int32_t number = kNone;
    uint32_t child[2] = {0, 0};  // 0: none, since the root is nobody's child
  };

  static int BitOf(absl::string_view key, uint32_t bit) {
    return (static_cast<uint8_t>(key[bit / 8]) >> (7 - bit % 8)) & 1;
  }
  // How many bits `a` and `b` have in common, at most `most`; the first `from` are known to be.
  static uint32_t CommonBits(absl::string_view a, absl::string_view b, uint32_t from, uint32_t most);
  absl::string_view KeyOf(const Node& node) const {
    return absl::string_view(keys_).substr(node.key, (node.bits + 7) / 8);
  }
  uint32_t AddNode(absl::string_view key, uint32_t bits, int32_t number);

  std::vector<Node> nodes_;
  std::string keys_;
};

// The number of zero bits at the end of `number`, at most `width`.
uint32_t TrailingZeros(absl::uint128 number, uint32_t width);

// Cuts the numbers from `first` to `last` (both included) of `width` bits, at most 128, into binary blocks: calls
// `visit` with the first number of each and with how many bits its numbers have in common, `width` of them for a single
// number. At most 2 * width - 2 blocks.
template <typename Visit>
void ForEachBlock(absl::uint128 first, absl::uint128 last, uint32_t width, Visit visit) {
  while (first <= last) {
    uint32_t free = TrailingZeros(first, width);
    // `last - first` and not `+ 1`, which may be 2^128.
    while (free > 0 && (~absl::uint128() >> (128 - free)) > last - first) --free;
    visit(first, width - free);
    const absl::uint128 end = free == 0 ? first : first + (~absl::uint128() >> (128 - free));
    if (end == last) return;
    first = end + 1;
  }
}

// The `width` bits of a number as a key: big-endian, at the front of (width + 7) / 8 bytes.
std::string KeyOf(absl::uint128 number, uint32_t width);

}  // namespace sluice::access

#endif  // SLUICE_PROTOCOLS_ACCESS_PREFIX_TRIE_H_
