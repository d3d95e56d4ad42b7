#include "protocols/access/prefix_trie.h"

#include <algorithm>
#include <bit>

namespace sluice::access {

uint32_t PrefixTrie::CommonBits(absl::string_view a, absl::string_view b, uint32_t from, uint32_t most) {
  for (uint32_t byte = from / 8; byte * 8 < most; ++byte) {
    const auto difference = static_cast<uint8_t>(a[byte] ^ b[byte]);
    if (difference == 0) continue;
    return std::min(most, byte * 8 + static_cast<uint32_t>(std::countl_zero(difference)));
  }
  return most;
}

uint32_t PrefixTrie::AddNode(absl::string_view key, uint32_t bits, int32_t number) {
  Node node;
  node.bits = bits;
  node.key = static_cast<uint32_t>(keys_.size());
  node.number = number;
  keys_.append(key.data(), (bits + 7) / 8);
  nodes_.push_back(node);
  return static_cast<uint32_t>(nodes_.size() - 1);
}

int32_t PrefixTrie::FindOrAdd(absl::string_view key, uint32_t bits, int32_t fresh) {
  for (uint32_t at = 0;;) {
    if (nodes_[at].bits == bits) {
      if (nodes_[at].number != kNone) return nodes_[at].number;
      nodes_[at].number = fresh;
      return kNone;
    }
    const int way = BitOf(key, nodes_[at].bits);
    const uint32_t next = nodes_[at].child[way];
    if (next == 0) {
      const uint32_t leaf = AddNode(key, bits, fresh);
      nodes_[at].child[way] = leaf;
      return kNone;
    }
    const uint32_t common = CommonBits(key, KeyOf(nodes_[next]), nodes_[at].bits, std::min(bits, nodes_[next].bits));
    if (common == nodes_[next].bits) {
      at = next;
      continue;
    }
    // They part on the way to `next`: a node where they do, which `bits` may end at.
    const uint32_t fork = AddNode(key, common, common == bits ? fresh : kNone);
    nodes_[fork].child[BitOf(KeyOf(nodes_[next]), common)] = next;
    nodes_[at].child[way] = fork;
    if (common == bits) return kNone;
    at = fork;
  }
}

uint32_t TrailingZeros(absl::uint128 number, uint32_t width) {
  uint32_t count = 0;
  if (absl::Uint128Low64(number) != 0) {
    count = static_cast<uint32_t>(std::countr_zero(absl::Uint128Low64(number)));
  } else {
    count = 64 + static_cast<uint32_t>(std::countr_zero(absl::Uint128High64(number)));  // 64 more for 0
  }
  return std::min(count, width);
}

std::string KeyOf(absl::uint128 number, uint32_t width) {
  const uint32_t bytes = (width + 7) / 8;
  number <<= static_cast<int>(8 * bytes - width);
  std::string key(bytes, '\0');
  for (uint32_t i = bytes; i-- > 0; number >>= 8) key[i] = static_cast<char>(absl::Uint128Low64(number) & 0xff);
  return key;
}

}  // namespace sluice::access
