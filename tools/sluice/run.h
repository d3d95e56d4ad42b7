#ifndef SLUICE_TOOLS_SLUICE_RUN_H_
#define SLUICE_TOOLS_SLUICE_RUN_H_

#include "tools/sluice/flags.h"

namespace sluice::tools {

// Runs the proxy from loading the configuration to the end of the drain. The exit status.
//
// Main thread, before any other thread exists (a daemon forks, signals are blocked for all).
int RunServer(const Flags& flags);

// `sluice check`: the exit status.
int CheckConfig(const Flags& flags);

}  // namespace sluice::tools

#endif  // SLUICE_TOOLS_SLUICE_RUN_H_
