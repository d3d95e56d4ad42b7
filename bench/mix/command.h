#ifndef SLUICE_BENCH_MIX_COMMAND_H_
#define SLUICE_BENCH_MIX_COMMAND_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/mix/arguments.h"
#include "bench/mix/reactor.h"
#include "sys/net/socket_address.h"

namespace sluice::bench::mix {

// What the commands of mix have in common. Start-up only.

// Each returns the exit status: 0 after the help on standard output, 1, 2.
int Help(const char* text);
int CannotRun(const char* command, const absl::Status& why);
int Usage(const char* command, const absl::Status& what);

// Raises the limit of descriptors, binds the process to `cpu` (none if negative), makes the loop.
absl::StatusOr<std::unique_ptr<Reactor>> PrepareProcess(int cpu);

// --cpu and --seconds of the commands that serve.
struct ServerOptions {
  int cpu = -1;
  double seconds = 0;
};
ServerOptions TakeServerOptions(Arguments& arguments);
constexpr int kMostCpu = 1023;

// Says "ready ADDRESS:PORT" on standard output and runs until SIGTERM, SIGINT, or the end of its time. 0.
int Serve(Reactor& reactor, const sys::SocketAddress& address, const ServerOptions& options);

}  // namespace sluice::bench::mix

#endif  // SLUICE_BENCH_MIX_COMMAND_H_
