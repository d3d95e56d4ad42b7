#ifndef SLUICE_BENCH_MIX_TLS_WRAP_H_
#define SLUICE_BENCH_MIX_TLS_WRAP_H_

#include <string>
#include <vector>

namespace sluice::bench::mix {

// `mix tls ARGUMENTS`: a wrapper that turns a plain stream into TLS or the other way, so that any load runs over TLS.
// The exit status.
int RunTls(std::vector<std::string> words);

}  // namespace sluice::bench::mix

#endif  // SLUICE_BENCH_MIX_TLS_WRAP_H_
