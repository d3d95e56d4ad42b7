// mix COMMAND ...: many connections with web-like exchanges, their origin, and TLS around a stream. See README.md.

#include <cstdio>
#include <string>
#include <vector>

#include "bench/mix/load.h"
#include "bench/mix/origin.h"
#include "bench/mix/tls_wrap.h"

namespace {

constexpr char kHelp[] =
    R"(usage: mix COMMAND [ARGUMENTS]     mix COMMAND --help

  mix load    many connections with web-like exchanges, through a proxy
  mix origin  what answers them
  mix tls     takes connections and hands them on, adding or removing TLS
)";

struct Command {
  const char* name;
  int (*run)(std::vector<std::string> words);
};

constexpr Command kCommands[] = {
    {"load", sluice::bench::mix::RunLoad},
    {"origin", sluice::bench::mix::RunOrigin},
    {"tls", sluice::bench::mix::RunTls},
};

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  for (const Command& command : kCommands) {
    if (name == command.name) return command.run(std::vector<std::string>(argv + 2, argv + argc));
  }
  if (name == "--help") {
    fputs(kHelp, stdout);
    return 0;
  }
  if (!name.empty()) fprintf(stderr, "mix: there is no command %s\n", name.c_str());
  fputs(kHelp, stderr);
  return 2;
}
