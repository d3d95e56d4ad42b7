#ifndef SLUICE_BENCH_LINK_LINK_OPTIONS_H_
#define SLUICE_BENCH_LINK_LINK_OPTIONS_H_

#include <array>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/link/link_model.h"
#include "bench/tool/command.h"

namespace sluice::bench::link {

extern const char kHelp[];

struct EmulatorOptions {
  std::array<std::string, 2> devices;
  LinkOptions link;
  ServerOptions server;
  bool help = false;  // nothing else counts
};

// InvalidArgument says what is wrong. Pure.
absl::StatusOr<EmulatorOptions> ParseOptions(std::vector<std::string> words);

}  // namespace sluice::bench::link

#endif  // SLUICE_BENCH_LINK_LINK_OPTIONS_H_
