#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sys/process/standard_streams.h"
#include "tools/sluice/flags.h"
#include "tools/sluice/run.h"

// The proxy server: see --help.

namespace {

constexpr char kVersion[] = "sluice 0.1";

// The exit status of a command whose only effect is what it prints.
int FlushOutput() {
  if (std::fflush(stdout) == 0) return 0;
  std::perror("sluice: write to standard output");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  using sluice::tools::Flags;
  sluice::sys::FillStandardStreams();
  const absl::StatusOr<Flags> flags = sluice::tools::ParseFlags(std::vector<std::string>(argv + 1, argv + argc));
  if (!flags.ok()) {
    std::fprintf(stderr, "sluice: %s\ntry: sluice --help\n", std::string(flags.status().message()).c_str());
    return 2;
  }
  switch (flags->command) {
    case Flags::Command::kHelp:
      std::fputs(sluice::tools::HelpText().c_str(), stdout);
      return FlushOutput();
    case Flags::Command::kVersion:
      std::printf("%s\n", kVersion);
      return FlushOutput();
    case Flags::Command::kCheck:
      return sluice::tools::CheckConfig(*flags);
    case Flags::Command::kRun:
      return sluice::tools::RunServer(*flags);
  }
  return 2;
}
