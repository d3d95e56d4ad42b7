#ifndef SLUICE_PROTOCOLS_ACCESS_LIMITS_LIMIT_RULE_H_
#define SLUICE_PROTOCOLS_ACCESS_LIMITS_LIMIT_RULE_H_

#include <cstdint>
#include <string>

#include "protocols/access/rule.h"
#include "protocols/accounting/log_target.h"

namespace sluice::access {

// What a limit is about. Each kind is a list of its own: a request counts for every rule of the list that matches, in
// their order, until an exempting one (`no...`) does.
enum class LimitKind : uint8_t {
  kConnections,  // connlim
  kBandwidthIn,  // bandlimin: from the upstream to the client
  kBandwidthOut,
  kCountIn,  // countin
  kCountOut,
  kCountAll,
};
constexpr int kLimitKinds = 6;

// "connlim", "bandlimin", ...: the command.
const char* LimitKindName(LimitKind kind);

// Who shares what a rule gives.
enum class LimitScope : uint8_t {
  kRule,    // all together
  kUser,    // `per user`: each user for itself; those without a name together
  kSource,  // `per src`: each client address, or network
  kHost,    // `per host`: each destination, as the client named it
};

// One line, as written. Plain data.
struct LimitRule {
  LimitKind kind = LimitKind::kConnections;
  bool exempts = false;  // `no...`
  Conditions conditions;
  SourceLocation location;
  // The words of the line but for its numbers: by these a reload knows it again.
  std::string identity;

  LimitScope scope = LimitScope::kRule;
  int ipv4_bits = 32;  // kSource: how much of an address counts
  int ipv6_bits = 64;  // what one subscriber has

  // kConnections: connections at once, or (period_seconds > 0) as many on average in that time. Bandwidths: bit/s.
  // Counters: bytes.
  int64_t amount = 0;
  int64_t period_seconds = 0;

  // Counters.
  int number = 0;  // in the file; 0: it is not kept there
  std::string comment;
  accounting::Rotation reset = accounting::Rotation::kNone;
};

}  // namespace sluice::access

#endif  // SLUICE_PROTOCOLS_ACCESS_LIMITS_LIMIT_RULE_H_
