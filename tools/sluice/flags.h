#ifndef SLUICE_TOOLS_SLUICE_FLAGS_H_
#define SLUICE_TOOLS_SLUICE_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sys/loop/loop_probe.h"

namespace sluice::tools {

// What the command line asks for.
struct Flags {
  enum class Command : uint8_t { kRun, kCheck, kVersion, kHelp };
  Command command = Command::kRun;
  std::string config;  // empty: the embedded default; "-": standard input

  sys::Backend backend = sys::Backend::kAuto;
  int workers = 0;  // 0: one for each CPU that may be used
  int handshake_threads = 1024;
  int64_t lameduck_nanos = 0;
  int64_t drain_timeout_nanos = 20'000'000'000;
  bool allow_system = false;
};

// `arguments` without the program's name. InvalidArgument says what is wrong: exit status 2.
absl::StatusOr<Flags> ParseFlags(const std::vector<std::string>& arguments);

// What --help prints.
std::string HelpText();

}  // namespace sluice::tools

#endif  // SLUICE_TOOLS_SLUICE_FLAGS_H_
