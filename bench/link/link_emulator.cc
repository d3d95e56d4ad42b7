// link_emulator: a link in user space between two TUN devices. See README.md.

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/link/emulator.h"
#include "bench/link/link_options.h"
#include "bench/tool/command.h"
#include "bench/tool/reactor.h"

namespace sluice::bench::link {
namespace {

constexpr char kProgram[] = "link_emulator";

void Report(const Emulator& emulator, const EmulatorOptions& options) {
  for (int i = 0; i < 2; ++i) {
    const Emulator::Counts& counts = emulator.counts(i);
    fprintf(stderr, "%s to %s: %lld packets arrived, %lld lost, %lld met a full queue, %lld were refused\n",
            options.devices[i].c_str(), options.devices[1 - i].c_str(), static_cast<long long>(counts.arrived),
            static_cast<long long>(counts.lost), static_cast<long long>(counts.queue_full),
            static_cast<long long>(counts.refused));
  }
}

int Run(std::vector<std::string> words) {
  absl::StatusOr<EmulatorOptions> options = ParseOptions(std::move(words));
  if (!options.ok()) return Usage(kProgram, options.status());
  if (options->help) return Help(kHelp);
  absl::StatusOr<std::unique_ptr<Reactor>> reactor = PrepareProcess(options->server.cpu);
  if (!reactor.ok()) return CannotRun(kProgram, reactor.status());
  absl::StatusOr<std::unique_ptr<Emulator>> emulator = Emulator::Create(**reactor, *options);
  if (!emulator.ok()) return CannotRun(kProgram, emulator.status());
  printf("ready %s %s\n", options->devices[0].c_str(), options->devices[1].c_str());
  fflush(stdout);
  const absl::Status status =
      (*emulator)->Run(Now() + static_cast<int64_t>(options->server.seconds * sys::kNanosPerSecond));
  Report(**emulator, *options);
  return status.ok() ? 0 : CannotRun(kProgram, status);
}

}  // namespace
}  // namespace sluice::bench::link

int main(int argc, char** argv) { return sluice::bench::link::Run(std::vector<std::string>(argv + 1, argv + argc)); }
