#include "protocols/access/rule_index.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/ascii.h"

namespace sluice::access {
namespace {

using sys::AddressFamily;
using sys::SocketAddress;

constexpr uint32_t kPortBits = 16;
constexpr uint32_t kSecondBits = 17;  // 86400 < 2^17

absl::uint128 NumberOf(const SocketAddress& address) {
  if (address.family() == AddressFamily::kIpv4) return address.ipv4();
  absl::uint128 number = 0;
  for (const uint8_t byte : address.ipv6()) number = number << 8 | byte;
  return number;
}

// Big-endian, the bits at the front.
struct NumberBytes {
  char bytes[3];
  NumberBytes(uint32_t number, uint32_t width) {
    number <<= 24 - width;
    bytes[0] = static_cast<char>(number >> 16);
    bytes[1] = static_cast<char>(number >> 8);
    bytes[2] = static_cast<char>(number);
  }
};

// False: nothing is left. In vectors of 16 bytes, which every x86-64 and arm64 has; compilers do not find them by
// themselves at -O2.
bool AndInto(uint64_t* into, const uint64_t* from) {
  using Vector = uint64_t __attribute__((vector_size(16)));
  Vector left = {0, 0};
  for (uint32_t i = 0; i < RuleBits::kBlockWords; i += 2) {
    Vector a, b;
    std::memcpy(&a, into + i, sizeof(a));
    std::memcpy(&b, from + i, sizeof(b));
    a &= b;
    left |= a;
    std::memcpy(into + i, &a, sizeof(a));
  }
  return (left[0] | left[1]) != 0;
}

std::string Backwards(absl::string_view text) { return {text.rbegin(), text.rend()}; }

}  // namespace

// Collects which rules each key makes match, then writes them down as sets.
class RuleIndex::Builder {
 public:
  explicit Builder(RuleIndex& index) : index_(index) {}

  using List = int32_t;
  List NewList() {
    lists_.emplace_back();
    return static_cast<List>(lists_.size() - 1);
  }
  void Put(List list, uint32_t rule) { lists_[static_cast<size_t>(list)].push_back(rule); }

  void PutKey(absl::flat_hash_map<std::string, int32_t>& map, const std::string& key, uint32_t rule) {
    const auto [found, is_new] = map.try_emplace(key, static_cast<int32_t>(lists_.size()));
    if (is_new) NewList();
    Put(found->second, rule);
  }
  template <typename Index, typename... Key>
  void PutIn(Index& index, uint32_t rule, Key... key) {
    const int32_t fresh = static_cast<int32_t>(lists_.size());
    int32_t list = index.FindOrAdd(key..., fresh);
    if (list < 0) list = NewList();
    Put(list, rule);
  }
  void PutRange(Ranges& ranges, const AddressRange& range, uint32_t rule) {
    const bool six = range.first.family() == AddressFamily::kIpv6;
    PutNumbers(six ? ranges.ipv6 : ranges.ipv4, NumberOf(range.first), NumberOf(range.last), six ? 128 : 32, rule);
  }
  void PutNumbers(PrefixTrie& trie, absl::uint128 first, absl::uint128 last, uint32_t width, uint32_t rule) {
    ForEachBlock(first, last, width, [&](absl::uint128 number, uint32_t bits) {
      PutIn(trie, rule, absl::string_view(KeyOf(number, width)), bits);
    });
  }
  void PutName(const NamePattern& pattern, uint32_t rule) {
    const uint32_t bits = static_cast<uint32_t>(8 * pattern.text.size());
    switch (pattern.kind) {
      case NamePattern::Kind::kExact:
        return PutKey(index_.exact_names_, pattern.text, rule);
      case NamePattern::Kind::kPrefix:
        return PutIn(index_.name_prefixes_, rule, absl::string_view(pattern.text), bits);
      case NamePattern::Kind::kSuffix:
        return PutIn(index_.name_suffixes_, rule, absl::string_view(Backwards(pattern.text)), bits);
      case NamePattern::Kind::kSubstring:
        return PutIn(index_.name_parts_, rule, absl::string_view(pattern.text));
    }
  }

  void PutWho(const Rule& rule, uint32_t number);
  void PutTarget(const Rule& rule, uint32_t number);
  void PutWhatAndWhen(const Rule& rule, uint32_t number);
  // List i becomes set i.
  void Finish() {
    for (const std::vector<uint32_t>& list : lists_) index_.bits_.Add(list);
    index_.bits_.ShrinkToFit();
    index_.name_parts_.Finish();
  }

 private:
  RuleIndex& index_;
  std::vector<std::vector<uint32_t>> lists_;
};

void RuleIndex::Builder::PutWho(const Rule& rule, uint32_t number) {
  const Conditions& c = rule.conditions;
  for (const std::string& user : c.users) PutKey(index_.users_, user, number);
  for (const AddressRange& range : c.sources) PutRange(index_.sources_, range, number);
  if (c.users.empty()) Put(static_cast<List>(index_.any_user_), number);
  if (c.sources.empty()) Put(static_cast<List>(index_.any_source_), number);
  index_.limited_.user |= !c.users.empty();
  index_.limited_.source |= !c.sources.empty();
}

void RuleIndex::Builder::PutTarget(const Rule& rule, uint32_t number) {
  const Conditions& c = rule.conditions;
  for (const AddressRange& range : c.target_ranges) PutRange(index_.targets_, range, number);
  for (const NamePattern& pattern : c.target_names) PutName(pattern, number);
  if (c.target_local) Put(static_cast<List>(index_.with_local_), number);
  if (c.limits_target_address()) Put(static_cast<List>(index_.with_ranges_), number);
  if (c.limits_target_address() && c.target_names.empty()) Put(static_cast<List>(index_.with_only_ranges_), number);
  if (!c.limits_target()) Put(static_cast<List>(index_.any_target_), number);
  index_.limited_.target |= c.limits_target();
  for (const PortSpan& span : c.ports) PutNumbers(index_.ports_, span.first, span.last, kPortBits, number);
  if (c.ports.empty()) Put(static_cast<List>(index_.any_port_), number);
  index_.limited_.port |= !c.ports.empty();
}

void RuleIndex::Builder::PutWhatAndWhen(const Rule& rule, uint32_t number) {
  const Conditions& c = rule.conditions;
  for (int i = 0; i < kOperations; ++i) {
    if ((c.operations >> i & 1) != 0) Put(index_.operations_[static_cast<size_t>(i)], number);
  }
  if (c.operations == 0) Put(static_cast<List>(index_.any_operation_), number);
  index_.limited_.operation |= c.operations != 0;
  for (int day = 0; day < 7; ++day) {
    if ((c.weekdays >> day & 1) != 0) Put(index_.weekdays_[static_cast<size_t>(day)], number);
  }
  if (c.weekdays == 0) Put(static_cast<List>(index_.any_weekday_), number);
  index_.limited_.weekday |= c.weekdays != 0;
  for (const DayPeriod& period : c.periods) {
    if (period.first >= period.end) continue;
    PutNumbers(index_.periods_, static_cast<uint32_t>(period.first), static_cast<uint32_t>(period.end - 1), kSecondBits,
               number);
  }
  if (c.periods.empty()) Put(static_cast<List>(index_.any_period_), number);
  index_.limited_.period |= !c.periods.empty();
}

RuleIndex::RuleIndex(const std::vector<Rule>& rules) : bits_(rules.size()) {
  Builder builder(*this);
  for (SetId* set : {&any_user_, &any_source_, &any_target_, &any_port_, &any_operation_, &any_weekday_, &any_period_,
                     &allowing_, &with_ranges_, &with_only_ranges_, &with_local_}) {
    *set = static_cast<SetId>(builder.NewList());
  }
  for (int32_t& list : operations_) list = builder.NewList();
  for (int32_t& list : weekdays_) list = builder.NewList();
  for (const Rule& rule : rules) {
    const uint32_t number = static_cast<uint32_t>(weights_.size());
    builder.PutWho(rule, number);
    builder.PutTarget(rule, number);
    builder.PutWhatAndWhen(rule, number);
    if (rule.action == Rule::Action::kAllow) builder.Put(static_cast<int32_t>(allowing_), number);
    weights_.push_back(rule.weight);
  }
  builder.Finish();
}

void RuleIndex::Add(SetId set, Dimension& dimension) const {
  const size_t words = bits_.WordsOf(set);
  if (words == 0) return;
  dimension.cursors.emplace_back(bits_, set);
  dimension.words += words;
}

void RuleIndex::AddAddress(const Ranges& ranges, const SocketAddress& address, Dimension& dimension) const {
  const auto add = [&](int32_t set, uint32_t) { Add(static_cast<SetId>(set), dimension); };
  if (address.family() == AddressFamily::kIpv6) {
    ranges.ipv6.ForEachPrefixOf(absl::string_view(reinterpret_cast<const char*>(address.ipv6().data()), 16), add);
  } else if (address.family() == AddressFamily::kIpv4 && !ranges.ipv4.empty()) {
    const uint32_t ipv4 = address.ipv4();
    const char bytes[4] = {static_cast<char>(ipv4 >> 24), static_cast<char>(ipv4 >> 16), static_cast<char>(ipv4 >> 8),
                           static_cast<char>(ipv4)};
    ranges.ipv4.ForEachPrefixOf(absl::string_view(bytes, sizeof(bytes)), add);
  }
}

void RuleIndex::AddNumber(const PrefixTrie& trie, uint32_t number, uint32_t width, Dimension& dimension) const {
  // The bits behind `width` are in no block.
  const NumberBytes bytes(number, width);
  trie.ForEachPrefixOf(absl::string_view(bytes.bytes, (width + 7) / 8),
                       [&](int32_t set, uint32_t) { Add(static_cast<SetId>(set), dimension); });
}

// `host`: lower case, without dots at its end.
void RuleIndex::AddNames(absl::string_view host, Dimension& dimension) const {
  if (const auto exact = exact_names_.find(host); exact != exact_names_.end()) {
    Add(static_cast<SetId>(exact->second), dimension);
  }
  name_prefixes_.ForEachPrefixOf(host, [&](int32_t set, uint32_t) { Add(static_cast<SetId>(set), dimension); });
  if (!name_suffixes_.empty()) {
    absl::InlinedVector<char, 256> backwards(host.rbegin(), host.rend());
    name_suffixes_.ForEachPrefixOf(absl::string_view(backwards.data(), backwards.size()),
                                   [&](int32_t set, uint32_t bits) {
                                     // *x wants something in place of the star.
                                     if (bits < 8 * backwards.size()) Add(static_cast<SetId>(set), dimension);
                                   });
  }
  absl::InlinedVector<int32_t, 16> parts;
  name_parts_.ForEachIn(host, [&](int32_t set) { parts.push_back(set); });
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  for (const int32_t set : parts) Add(static_cast<SetId>(set), dimension);
}

void RuleIndex::AddTarget(const RequestFacts& facts, Mode mode, Dimensions& all) const {
  if (!limited_.target) return;
  const bool address_known = facts.target.family() != AddressFamily::kNone;
  const bool name_known = !facts.host.empty() || address_known;
  // Nothing to hold a list against.
  if (!name_known && mode != Mode::kCertain) return;
  Dimension dimension;
  Add(any_target_, dimension);
  if (address_known) {
    AddAddress(targets_, facts.target, dimension);
    if (bits_.WordsOf(with_local_) > 0 && IsLocal(facts.target, facts.own)) Add(with_local_, dimension);
  } else if (mode == Mode::kFinal) {
    Add(with_only_ranges_, dimension);
  } else if (mode == Mode::kPossible) {
    Add(with_ranges_, dimension);
  }
  if (name_known) {
    absl::string_view host = facts.host;
    std::string text;
    if (host.empty()) {
      text = facts.target.IpText();
      host = text;
    }
    while (!host.empty() && host.back() == '.') host.remove_suffix(1);
    if (std::any_of(host.begin(), host.end(),
                    [](char c) { return absl::ascii_isupper(static_cast<unsigned char>(c)); })) {
      text = absl::AsciiStrToLower(host);
      host = text;
    }
    AddNames(host, dimension);
  }
  Push(std::move(dimension), all);
}

void RuleIndex::AddPort(const RequestFacts& facts, Mode mode, Dimensions& all) const {
  if (!limited_.port) return;
  const bool known = facts.port != 0 || facts.operation == Operation::kBind;
  if (!known && mode != Mode::kCertain) return;
  Dimension dimension;
  Add(any_port_, dimension);
  if (known) AddNumber(ports_, facts.port, kPortBits, dimension);
  Push(std::move(dimension), all);
}

RuleIndex::Dimensions RuleIndex::Find(const RequestFacts& facts, Mode mode, bool only_allowing) const {
  Dimensions all;
  if (limited_.user) {
    Dimension dimension;
    Add(any_user_, dimension);
    const auto found = users_.find(facts.user.empty() ? absl::string_view("-") : facts.user);
    if (found != users_.end()) Add(static_cast<SetId>(found->second), dimension);
    Push(std::move(dimension), all);
  }
  if (limited_.source) {
    Dimension dimension;
    Add(any_source_, dimension);
    AddAddress(sources_, facts.client, dimension);
    Push(std::move(dimension), all);
  }
  AddTarget(facts, mode, all);
  AddPort(facts, mode, all);
  if (limited_.operation) {
    Dimension dimension;
    Add(any_operation_, dimension);
    Add(static_cast<SetId>(operations_[static_cast<size_t>(facts.operation)]), dimension);
    Push(std::move(dimension), all);
  }
  if (limited_.weekday) {
    Dimension dimension;
    Add(any_weekday_, dimension);
    Add(static_cast<SetId>(weekdays_[facts.time.weekday % 7]), dimension);
    Push(std::move(dimension), all);
  }
  if (limited_.period) {
    Dimension dimension;
    Add(any_period_, dimension);
    AddNumber(periods_, static_cast<uint32_t>(facts.time.second), kSecondBits, dimension);
    Push(std::move(dimension), all);
  }
  if (only_allowing) {
    Dimension dimension;
    Add(allowing_, dimension);
    Push(std::move(dimension), all);
  }
  return all;
}

// The rules of the block that are in all dimensions; false: none.
bool RuleIndex::Intersect(uint32_t block, Dimensions& all, RuleBits::Block& matching) {
  matching.fill(~uint64_t{0});
  RuleBits::Block sum;
  for (Dimension& dimension : all) {
    const uint64_t* any = dimension.cursors.size() == 1 ? dimension.cursors.front().BitmapOf(block) : nullptr;
    if (any == nullptr) {
      sum.fill(0);
      for (RuleBits::Cursor& cursor : dimension.cursors) cursor.OrInto(block, sum);
      any = sum.data();
    }
    if (!AndInto(matching.data(), any)) return false;
  }
  return true;
}

void RuleIndex::ForEach(const RequestFacts& facts, Mode mode, bool only_allowing,
                        absl::FunctionRef<bool(uint32_t rule)> visit) const {
  Dimensions all = Find(facts, mode, only_allowing);
  // Without any dimension every rule matches.
  const uint32_t rules = static_cast<uint32_t>(weights_.size());
  if (all.empty()) {
    for (uint32_t rule = 0; rule < rules; ++rule) {
      if (weights_[rule] != 0 && weights_[rule] < facts.weight) continue;
      if (!visit(rule)) return;
    }
    return;
  }
  std::sort(all.begin(), all.end(), [](const Dimension& a, const Dimension& b) { return a.words < b.words; });
  for (uint32_t block = 0;; ++block) {
    uint32_t next = RuleBits::kNoBlock;
    for (RuleBits::Cursor& cursor : all.front().cursors) next = std::min(next, cursor.SkipTo(block));
    if (next == RuleBits::kNoBlock) return;
    block = next;
    RuleBits::Block matching;
    if (!Intersect(block, all, matching)) continue;
    for (uint32_t i = 0; i < RuleBits::kBlockWords; ++i) {
      for (uint64_t word = matching[i]; word != 0; word &= word - 1) {
        const uint32_t bit = static_cast<uint32_t>(std::countr_zero(word));
        const uint32_t rule = block * RuleBits::kBlockRules + i * 64 + bit;
        if (weights_[rule] != 0 && weights_[rule] < facts.weight) continue;
        if (!visit(rule)) return;
      }
    }
  }
}

uint32_t RuleIndex::First(const RequestFacts& facts, Mode mode, bool only_allowing) const {
  uint32_t first = kNone;
  ForEach(facts, mode, only_allowing, [&](uint32_t rule) {
    first = rule;
    return false;
  });
  return first;
}

}  // namespace sluice::access
