#ifndef SLUICE_BENCH_TOOL_COMMAND_H_
#define SLUICE_BENCH_TOOL_COMMAND_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/tool/arguments.h"
#include "bench/tool/reactor.h"

namespace sluice::bench {

// How the programs of the benchmarks start and end. Start-up only.

// Each returns the exit status: 0 after the help on standard output, 1, 2. `program` is how it was called: "mix load".
int Help(const char* text);
int CannotRun(const char* program, const absl::Status& why);
int Usage(const char* program, const absl::Status& what);

// Raises the limit of descriptors, binds the process to `cpu` (none if negative), makes the loop.
absl::StatusOr<std::unique_ptr<Reactor>> PrepareProcess(int cpu);

// --cpu and --seconds of programs that serve until they are told to end.
struct ServerOptions {
  int cpu = -1;
  double seconds = 0;
};
ServerOptions TakeServerOptions(Arguments& arguments);
constexpr int kMostCpu = 1023;

// Says "ready NAME" on standard output and runs until SIGTERM, SIGINT, or the end of its time. 0.
int Serve(Reactor& reactor, const std::string& name, const ServerOptions& options);

}  // namespace sluice::bench

#endif  // SLUICE_BENCH_TOOL_COMMAND_H_
