#ifndef SLUICE_PROTOCOLS_CONFIG_SHELL_COMMAND_H_
#define SLUICE_PROTOCOLS_CONFIG_SHELL_COMMAND_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "sys/thread/clock.h"

namespace sluice::config {

// How long a `system` command may hold up a start or a reload.
constexpr int64_t kShellCommandNanos = 60 * sys::kNanosPerSecond;

// Runs `command` by /bin/sh and waits for its end: BuildOptions::run_system of a program that allows it. Its standard
// input is empty and its standard output goes to standard error, since ours belongs to the access records.
//
// NotFound when there is no /bin/sh (as in an image with nothing but the program), Aborted with "exit status N" or
// "signal N" when it fails, DeadlineExceeded when it takes longer: it is killed then, with its process group.
//
// May block. Thread-safe.
absl::Status RunShellCommand(const std::string& command, int64_t limit_nanos = kShellCommandNanos);

}  // namespace sluice::config

#endif  // SLUICE_PROTOCOLS_CONFIG_SHELL_COMMAND_H_
