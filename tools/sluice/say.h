#ifndef SLUICE_TOOLS_SLUICE_SAY_H_
#define SLUICE_TOOLS_SLUICE_SAY_H_

#include <string>

namespace sluice::tools {

// One line on standard error.
//
// Never holds the process up for longer than kMostWaitMillis, and that once: where nobody reads what is said (a full
// pipe, a stopped terminal), lines are lost, and how many is told when there is room again. A server that waited for
// the reader of its messages would not hear SIGTERM.
//
// Thread-safe.
void Say(const std::string& line);

// The same for a text of several lines, each with its newline.
void SayText(const std::string& text);

constexpr int kMostWaitMillis = 250;

}  // namespace sluice::tools

#endif  // SLUICE_TOOLS_SLUICE_SAY_H_
