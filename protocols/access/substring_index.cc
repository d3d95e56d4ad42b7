#include "protocols/access/substring_index.h"

#include <cstddef>

namespace sluice::access {

int32_t SubstringIndex::FindOrAdd(absl::string_view text, int32_t fresh) {
  uint32_t at = 0;
  for (const char c : text) {
    const auto [edge, is_new] = edges_.try_emplace(Edge(at, c), static_cast<uint32_t>(nodes_.size()));
    if (is_new) nodes_.emplace_back();
    at = edge->second;
  }
  if (nodes_[at].number != kNone) return nodes_[at].number;
  nodes_[at].number = fresh;
  return kNone;
}

void SubstringIndex::Finish() {
  // Breadth first, so that what a node falls back to is done before it.
  std::vector<std::vector<std::pair<char, uint32_t>>> children(nodes_.size());
  for (const auto& [edge, node] : edges_) {
    children[edge >> 8].push_back({static_cast<char>(edge & 0xff), node});
  }
  std::vector<uint32_t> queue = {0};
  for (size_t i = 0; i < queue.size(); ++i) {
    const uint32_t parent = queue[i];
    for (const auto& [c, node] : children[parent]) {
      queue.push_back(node);
      if (parent != 0) nodes_[node].fallback = Step(nodes_[parent].fallback, c);
      const Node& fallback = nodes_[nodes_[node].fallback];
      nodes_[node].shorter = fallback.number != kNone ? nodes_[node].fallback : fallback.shorter;
    }
  }
}

}  // namespace sluice::access
