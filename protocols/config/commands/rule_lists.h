#ifndef SLUICE_PROTOCOLS_CONFIG_COMMANDS_RULE_LISTS_H_
#define SLUICE_PROTOCOLS_CONFIG_COMMANDS_RULE_LISTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "protocols/access/rule.h"
#include "protocols/config/command_context.h"

namespace sluice::config {

// Reads the words [USERS [SOURCES [TARGETS [PORTS [OPERATIONS [WEEKDAYS [TIMES [WEIGHT]]]]]]]] that allow, deny and all
// kinds of limits end with, from argument `first` on. A word that is missing or `*` leaves its list at "any". False
// when one is wrong; all that are wrong are in the diagnostics then.
//
// Nothing is guessed: what is no address, range, block, name or pattern is an error, and so is a list that can match
// nothing (backward ranges), or one with `*` beside other elements.
//
// Thread-compatible.
bool ReadRuleLists(CommandContext& context, int first, access::Conditions& conditions, int& weight);

// The elements of each list by themselves; errors are "what, why, what instead" without the word. Pure; thread-safe.

// "192.0.2.1", "192.0.2.1-192.0.2.9", "192.0.2.0/24", and the same of IPv6. Bits behind the length of a block are
// dropped, as 3proxy does. IPv4-mapped addresses are IPv4.
absl::Status ParseAddressRange(absl::string_view text, access::AddressRange& range);
// Of targets: those, names and their patterns, and `local`.
absl::Status ParseTargetElement(absl::string_view text, access::Conditions& conditions);
absl::Status ParsePortSpan(absl::string_view text, access::PortSpan& span);
// "0" to "7", "1-5"; 0 and 7 are Sunday. Adds to the bits.
absl::Status ParseWeekdays(absl::string_view text, uint8_t& weekdays);
// "08:00:00-17:30:00"; the end is not included and may be 24:00:00.
absl::Status ParseDayPeriod(absl::string_view text, access::DayPeriod& period);

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_COMMANDS_RULE_LISTS_H_
