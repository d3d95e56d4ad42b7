#ifndef SLUICE_PROTOCOLS_ACCESS_SUBSTRING_INDEX_H_
#define SLUICE_PROTOCOLS_ACCESS_SUBSTRING_INDEX_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

namespace sluice::access {

// Which of many strings occur in a text, in one pass over it: the patterns *x* (Aho and Corasick, 1975).
//
// Thread-compatible; immutable after Finish().
class SubstringIndex {
 public:
  static constexpr int32_t kNone = -1;

  SubstringIndex() : nodes_(1) {}

  // The number of `text`, kNone when it is new: then `fresh` is its number. REQUIRES: not empty; Finish() was not
  // called.
  int32_t FindOrAdd(absl::string_view text, int32_t fresh);
  void Finish();

  // visit(number) for each stored string in `text`, once for each place where one ends.
  template <typename Visit>
  void ForEachIn(absl::string_view text, Visit visit) const {
    if (nodes_.size() == 1) return;
    uint32_t at = 0;
    for (const char c : text) {
      at = Step(at, c);
      for (uint32_t found = nodes_[at].number != kNone ? at : nodes_[at].shorter; found != 0;
           found = nodes_[found].shorter) {
        visit(nodes_[found].number);
      }
    }
  }

 private:
  struct Node {
    int32_t number = kNone;
    uint32_t fallback = 0;  // the longest suffix of this node's string that is a node, too
    uint32_t shorter = 0;   // the longest such one that is a stored string; 0: none
  };

  static uint64_t Edge(uint32_t node, char c) { return uint64_t{node} << 8 | static_cast<uint8_t>(c); }
  uint32_t Step(uint32_t node, char c) const {
    for (;;) {
      const auto edge = edges_.find(Edge(node, c));
      if (edge != edges_.end()) return edge->second;
      if (node == 0) return 0;
      node = nodes_[node].fallback;
    }
  }

  std::vector<Node> nodes_;
  absl::flat_hash_map<uint64_t, uint32_t> edges_;
};

}  // namespace sluice::access

#endif  // SLUICE_PROTOCOLS_ACCESS_SUBSTRING_INDEX_H_
