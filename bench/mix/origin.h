#ifndef SLUICE_BENCH_MIX_ORIGIN_H_
#define SLUICE_BENCH_MIX_ORIGIN_H_

#include <string>
#include <vector>

namespace sluice::bench::mix {

// `mix origin ARGUMENTS`: answers the requests of wire.h with the content of content.h until SIGTERM or --seconds have
// passed. Prints "ready ADDRESS:PORT". The exit status.
int RunOrigin(std::vector<std::string> words);

}  // namespace sluice::bench::mix

#endif  // SLUICE_BENCH_MIX_ORIGIN_H_
