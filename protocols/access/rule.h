#ifndef SLUICE_PROTOCOLS_ACCESS_RULE_H_
#define SLUICE_PROTOCOLS_ACCESS_RULE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "protocols/access/operation.h"
#include "protocols/access/source_location.h"
#include "sys/net/socket_address.h"

namespace sluice::upstream {
struct ParentList;
}

namespace sluice::access {

// Addresses of one family from `first` to `last`, both included: an address, A-B, or a CIDR block. Port and scope are
// not looked at.
struct AddressRange {
  sys::SocketAddress first;
  sys::SocketAddress last;

  friend bool operator==(const AddressRange&, const AddressRange&) = default;
};

// A pattern for the name of a target. Lower case, no dot at its end.
struct NamePattern {
  enum class Kind : uint8_t {
    kExact,
    kPrefix,     // x*
    kSuffix,     // *x: the name is longer than x. `*example.com` is badexample.com too, but not example.com
    kSubstring,  // *x*
  };
  Kind kind = Kind::kExact;
  std::string text;  // x; not empty

  friend bool operator==(const NamePattern&, const NamePattern&) = default;
};

struct PortSpan {
  uint16_t first = 0;
  uint16_t last = 0;

  friend bool operator==(const PortSpan&, const PortSpan&) = default;
};

// Seconds of the day: first <= t < end.
struct DayPeriod {
  int32_t first = 0;
  int32_t end = 0;  // up to 86400

  friend bool operator==(const DayPeriod&, const DayPeriod&) = default;
};

// The seven lists of a rule. A list that is empty (0) is "any". What a list means where the request does not say is in
// RuleSet.
//
// Limits (`connlim`, `bandlimin`, `countin`, ...) have the same lists: RuleSet serves them, too.
struct Conditions {
  std::vector<std::string> users;  // exact, case-sensitive; "-" is whoever has no name
  std::vector<AddressRange> sources;
  std::vector<AddressRange> target_ranges;
  std::vector<NamePattern> target_names;
  bool target_local = false;  // the word `local`, see IsLocal()
  std::vector<PortSpan> ports;
  OperationSet operations = 0;
  uint8_t weekdays = 0;  // bit 0 = Sunday
  std::vector<DayPeriod> periods;

  bool limits_target() const { return limits_target_address() || !target_names.empty(); }
  bool limits_target_address() const { return target_local || !target_ranges.empty(); }

  friend bool operator==(const Conditions&, const Conditions&) = default;
};

// One `allow`, `deny` or `redirect`, as written. Plain data.
struct Rule {
  enum class Action : uint8_t { kAllow, kDeny };
  Action action = Action::kDeny;
  SourceLocation location;
  Conditions conditions;
  bool log = true;  // false: `nolog`
  int weight = 0;   // `weight`; 0: none

  // The `parent` lines below it; null: none, the request goes direct. Immutable: a line that comes later makes another
  // list, so that the services above keep theirs. Opaque here.
  std::shared_ptr<const upstream::ParentList> parents;

  // Says the same, wherever it stands. Of parents only whether there are any: what they are is not known here.
  bool SameAs(const Rule& other) const {
    return action == other.action && log == other.log && weight == other.weight &&
           (parents == nullptr) == (other.parents == nullptr) && conditions == other.conditions;
  }
};

}  // namespace sluice::access

#endif  // SLUICE_PROTOCOLS_ACCESS_RULE_H_
