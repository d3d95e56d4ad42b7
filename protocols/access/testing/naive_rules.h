#ifndef SLUICE_PROTOCOLS_ACCESS_TESTING_NAIVE_RULES_H_
#define SLUICE_PROTOCOLS_ACCESS_TESTING_NAIVE_RULES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "protocols/access/request_facts.h"
#include "protocols/access/rule.h"

namespace sluice::access {

// Rules the slow way: one after the other, each list from its beginning, as a reader of the manual would do it. What
// the compiled rules are compared with.
//
// Pure. Thread-safe.

// Whether the rule matches; nothing: that depends on what the request does not say yet.
std::optional<bool> NaiveMatch(const Rule& rule, const RequestFacts& facts);

// The same once nothing more will be known.
bool NaiveFinalMatch(const Rule& rule, const RequestFacts& facts);

// The number of the first rule that matches, -1 for none.
int NaiveFirst(const std::vector<Rule>& rules, const RequestFacts& facts);

// What tests draw at random, from few values, so that much of it matches.
class RandomRules {
 public:
  explicit RandomRules(uint64_t seed) : state_(seed * 2 + 1) {}

  std::vector<Rule> Rules(int most);
  RequestFacts Request();
  sys::SocketAddress Address();
  uint32_t Below(uint32_t bound);
  bool OneIn(uint32_t n) { return Below(n) == 0; }

 private:
  AddressRange Range();
  NamePattern Pattern();
  Conditions Lists();

  uint64_t state_;
};

}  // namespace sluice::access

#endif  // SLUICE_PROTOCOLS_ACCESS_TESTING_NAIVE_RULES_H_
