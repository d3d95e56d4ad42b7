#include "bench/mix/load_options.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "bench/tool/arguments.h"
#include "bench/tool/command.h"

namespace sluice::bench::mix {

const char kLoadHelp[] =
    R"(usage: mix load --via http|connect|socks|relay|none --proxy ADDRESS:PORT
                --origin ADDRESS:PORT [OPTIONS]

Many open connections, web-like exchanges on some of them: answers of log-normal
size (median 12 KB, mean 43 KB, at most 8 MB), checked for length and content.
`mix origin` answers them.

  --via http        an HTTP proxy (absolute form, kept connections)
        connect     tunnels by CONNECT
        socks       tunnels by SOCKS 5
        relay       a port that leads to the origin
        none        no proxy (and no --proxy)
  --open N          connections (default: as many as the limits of open files of
                    this program and of the proxy allow)
  --active M        exchanges at a time, at most (default: a tenth of --open)
  --rate R          begin R exchanges a second whatever becomes of them; an
                    exchange's latency counts from when it was due. Default: a
                    closed loop, each exchange followed by another at once
  --seconds S       what is measured (default 10), after
  --warmup S        of the same load (default 2)
  --timeout S       an exchange has failed when nothing comes for so long; also
                    the most that is waited for the last ones (default 10)
  --half-closing P  percent of exchanges that are the last of their connection:
                    the client shuts its sending side after the request, the
                    origin answers, then ends the connection, which is replaced
                    (default 5). Through an HTTP proxy they say
                    `Connection: close` instead, as many proxies, rightly, take
                    a client that shuts its side for one that has gone
  --http-half-close shut it through an HTTP proxy as well
  --seed N          sizes, order and half-closing of another run (default 1)
  --proxy-pid PID   whose limit of open files counts for --open (default: taken
                    to be the same as this program's)
  --cpu N           run on this CPU only
  --counters FILE   a mapped file (bench/load/counters.h) for who measures beside
  --json            one line of JSON: open active exchanges failed bytes seconds
                    p50_us p90_us p99_us p999_us max_us cpu_us_per_exchange,
                    and per_second cpu_busy unfinished idle_ends failures

exchanges, bytes, seconds and CPU time are of the measured time; latencies those
of all exchanges that were due in it, whenever they ended (`unfinished` are
those that did not, in the time they had waited by then). `failed` counts from
the first connection on. cpu_us_per_exchange is this program's own CPU time: with
cpu_busy near 1 the load, not the proxy, set the pace.

Exit status: 0, 1 if an exchange failed or the load could not run, 2 for wrong
usage.
)";

namespace {

constexpr int64_t kMostOpen = 1'000'000;
constexpr double kMostSeconds = 24 * 3600;
constexpr double kMostRate = 1e6;
constexpr int64_t kOwnOthers = 100;  // the loop, standard streams, connections that are closing

Via TakeVia(Arguments& arguments) {
  const std::string name = arguments.Text("via", "");
  for (Via via : {Via::kNone, Via::kHttp, Via::kConnect, Via::kSocks, Via::kRelay}) {
    if (name == ViaName(via)) return via;
  }
  arguments.Fault(absl::StrCat("--via ", name, ": http, connect, socks, relay or none is needed"));
  return Via::kNone;
}

void TakeAddresses(Arguments& arguments, LoadOptions& options) {
  options.via = TakeVia(arguments);
  options.proxy = arguments.Address("proxy");
  options.origin = arguments.Address("origin");
  if (options.via == Via::kNone && options.proxy.is_ip()) arguments.Fault("--via none has no --proxy");
  if (options.via != Via::kNone && !options.proxy.is_ip()) arguments.Fault("--proxy ADDRESS:PORT is needed");
  if (!options.origin.is_ip()) arguments.Fault("--origin ADDRESS:PORT is needed");
}

}  // namespace

absl::StatusOr<LoadOptions> ParseLoadOptions(std::vector<std::string> words) {
  Arguments arguments(std::move(words));
  LoadOptions options;
  options.help = arguments.Flag("help");
  if (options.help) return options;
  TakeAddresses(arguments, options);
  options.open = arguments.Int("open", options.open, 1, kMostOpen);
  options.active = arguments.Int("active", options.active, 1, kMostOpen);
  options.rate = arguments.Number("rate", options.rate, 0.001, kMostRate);
  options.seconds = arguments.Number("seconds", options.seconds, 0.001, kMostSeconds);
  options.warmup_seconds = arguments.Number("warmup", options.warmup_seconds, 0, kMostSeconds);
  options.timeout_seconds = arguments.Number("timeout", options.timeout_seconds, 0.1, kMostSeconds);
  options.half_closing_percent = arguments.Int("half-closing", options.half_closing_percent, 0, 100);
  options.http_half_close = arguments.Flag("http-half-close");
  options.seed = static_cast<uint64_t>(arguments.Int("seed", 1, 0, std::numeric_limits<int64_t>::max()));
  options.proxy_pid = arguments.Int("proxy-pid", 0, 1, std::numeric_limits<int32_t>::max());
  options.cpu = static_cast<int>(arguments.Int("cpu", -1, 0, kMostCpu));
  options.counters = arguments.Text("counters", "");
  options.json = arguments.Flag("json");
  if (options.open > 0 && options.active > options.open) {
    arguments.Fault(absl::StrCat("--active ", options.active, ": more than --open ", options.open));
  }
  if (absl::Status status = arguments.Finish(); !status.ok()) return status;
  return options;
}

int64_t MostConnections(int64_t own_limit, int64_t proxy_limit) {
  const int64_t own = std::min(own_limit, kMostOpen) - kOwnOthers;
  const int64_t proxy = std::min(proxy_limit, 3 * kMostOpen);
  return std::max<int64_t>(std::min(own, (proxy - proxy / 10) / 2), 1);
}

std::optional<int64_t> ParseOpenFilesLimit(absl::string_view text) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, "Max open files")) continue;
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    int64_t limit = 0;
    if (!words.empty() && words[0] == "unlimited") return std::numeric_limits<int64_t>::max();
    if (!words.empty() && absl::SimpleAtoi(words[0], &limit)) return limit;
  }
  return std::nullopt;
}

}  // namespace sluice::bench::mix
