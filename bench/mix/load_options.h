#ifndef SLUICE_BENCH_MIX_LOAD_OPTIONS_H_
#define SLUICE_BENCH_MIX_LOAD_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bench/mix/wire.h"
#include "sys/net/socket_address.h"

namespace sluice::bench::mix {

extern const char kLoadHelp[];

struct LoadOptions {
  Via via = Via::kNone;
  sys::SocketAddress proxy;  // kNone with Via::kNone
  sys::SocketAddress origin;
  int64_t open = 0;    // 0: as many as the descriptors allow
  int64_t active = 0;  // 0: a tenth of the open ones
  double rate = 0;     // 0: a closed loop
  double seconds = 10;
  double warmup_seconds = 2;
  double timeout_seconds = 10;
  int64_t half_closing_percent = 5;
  bool http_half_close = false;
  uint64_t seed = 1;
  int64_t proxy_pid = 0;  // 0: not known
  int cpu = -1;
  std::string counters;  // "": nobody reads them
  bool json = false;
  bool help = false;  // nothing else counts
};

// InvalidArgument says what is wrong. Pure.
absl::StatusOr<LoadOptions> ParseLoadOptions(std::vector<std::string> words);

// How many connections the limits of open descriptors allow: this program needs one for each and a few more; a proxy
// two, and pipes while it splices, for which a tenth is left. Pure.
int64_t MostConnections(int64_t own_limit, int64_t proxy_limit);

// The soft limit of "Max open files" in the text of /proc/PID/limits (proc(5)); none if there is no such line. Pure.
std::optional<int64_t> ParseOpenFilesLimit(absl::string_view text);

}  // namespace sluice::bench::mix

#endif  // SLUICE_BENCH_MIX_LOAD_OPTIONS_H_
