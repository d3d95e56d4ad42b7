// loadtool COMMAND ...: the load of the benchmarks and the origin behind the proxy; see commands.h.

#include <cstdio>
#include <cstring>

#include "bench/load/commands.h"
#include "bench/load/tcp.h"

namespace {

// Figures of a build without optimization are worth nothing: the harness asks.
int PrintBuild(int, char**) {
#ifdef NDEBUG
  puts("optimized");
#else
  puts("not optimized: build with -c opt");
#endif
  return 0;
}

struct Command {
  const char* name;
  int (*run)(int argc, char** argv);
};

constexpr Command kCommands[] = {
    {"origin", sluice::bench::RunOrigin},
    {"requests", sluice::bench::RunRequests},
    {"stream", sluice::bench::RunStream},
    {"hold", sluice::bench::RunHold},
    {"check", sluice::bench::RunCheck},
    {"fetch", sluice::bench::RunFetch},
    {"build", PrintBuild},
};

}  // namespace

int main(int argc, char** argv) {
  sluice::bench::PrepareProcess();
  for (const Command& command : kCommands) {
    if (argc > 1 && strcmp(argv[1], command.name) == 0) return command.run(argc - 2, argv + 2);
  }
  fprintf(stderr, "usage: loadtool COMMAND [ARGUMENTS]\ncommands:");
  for (const Command& command : kCommands) fprintf(stderr, " %s", command.name);
  fprintf(stderr, "\n");
  return 2;
}
