#ifndef SLUICE_PROTOCOLS_ACCESS_RULE_INDEX_H_
#define SLUICE_PROTOCOLS_ACCESS_RULE_INDEX_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "protocols/access/prefix_trie.h"
#include "protocols/access/request_facts.h"
#include "protocols/access/rule.h"
#include "protocols/access/rule_bits.h"
#include "protocols/access/substring_index.h"

namespace sluice::access {

// The compiled form of a list of rules. Seven dimensions (user, source, target, port, operation, weekday, time of day)
// each give the rules whose list in that dimension matches: those that have no list there, and those that the index of
// the dimension finds. A rule that is in all of them matches. They are intersected block by block (rule_bits.h), along
// the dimension with the fewest.
//
// Thread-compatible; immutable.
class RuleIndex {
 public:
  explicit RuleIndex(const std::vector<Rule>& rules);

  // What counts where the request does not say all.
  enum class Mode : uint8_t {
    kFinal,     // no more will be known: rule_set.h says how a list then matches
    kCertain,   // only what matches whatever is learnt later
    kPossible,  // what may match
  };

  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  // The first rule that matches, or kNone. `only_allowing`: deny rules do not count.
  uint32_t First(const RequestFacts& facts, Mode mode, bool only_allowing) const;
  // All that match, in order, until `visit` returns false.
  void ForEach(const RequestFacts& facts, Mode mode, bool only_allowing,
               absl::FunctionRef<bool(uint32_t rule)> visit) const;

 private:
  using SetId = RuleBits::SetId;
  // Ranges of both families.
  struct Ranges {
    PrefixTrie ipv4, ipv6;
  };
  // The sets of one dimension; any of them will do.
  struct Dimension {
    absl::InlinedVector<RuleBits::Cursor, 4> cursors;
    size_t words = 0;
  };
  using Dimensions = absl::InlinedVector<Dimension, 8>;
  class Builder;

  void Add(SetId set, Dimension& dimension) const;
  static void Push(Dimension dimension, Dimensions& all) { all.push_back(std::move(dimension)); }
  void AddAddress(const Ranges& ranges, const sys::SocketAddress& address, Dimension& dimension) const;
  void AddNames(absl::string_view host, Dimension& dimension) const;
  void AddNumber(const PrefixTrie& trie, uint32_t number, uint32_t width, Dimension& dimension) const;
  void AddTarget(const RequestFacts& facts, Mode mode, Dimensions& all) const;
  void AddPort(const RequestFacts& facts, Mode mode, Dimensions& all) const;
  static bool Intersect(uint32_t block, Dimensions& all, RuleBits::Block& matching);
  Dimensions Find(const RequestFacts& facts, Mode mode, bool only_allowing) const;

  // A dimension in which no rule has a list is not looked at.
  struct Limited {
    bool user = false, source = false, target = false, port = false, operation = false, weekday = false, period = false;
  };
  Limited limited_;
  std::vector<int> weights_;
  RuleBits bits_;

  // What has no list in the dimension.
  SetId any_user_ = 0, any_source_ = 0, any_target_ = 0, any_port_ = 0, any_operation_ = 0, any_weekday_ = 0,
        any_period_ = 0;
  SetId allowing_ = 0;
  SetId with_ranges_ = 0;       // ranges or `local` among their targets
  SetId with_only_ranges_ = 0;  // and no patterns
  SetId with_local_ = 0;

  absl::flat_hash_map<std::string, int32_t> users_;
  Ranges sources_, targets_;
  absl::flat_hash_map<std::string, int32_t> exact_names_;
  PrefixTrie name_prefixes_;
  PrefixTrie name_suffixes_;  // backwards
  SubstringIndex name_parts_;
  PrefixTrie ports_;
  std::array<int32_t, kOperations> operations_{};
  std::array<int32_t, 7> weekdays_{};
  PrefixTrie periods_;
};

}  // namespace sluice::access

#endif  // SLUICE_PROTOCOLS_ACCESS_RULE_INDEX_H_
