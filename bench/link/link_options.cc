#include "bench/link/link_options.h"

#include <net/if.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "bench/tool/arguments.h"
#include "sys/thread/clock.h"

namespace sluice::bench::link {

const char kHelp[] =
    R"(usage: link_emulator --tun A,B [--rate BITS] [--delay MS] [--loss PERCENT]
                     [--queue PACKETS] [--seed N] [--cpu N] [--seconds S]

A link in user space between two TUN devices, for kernels without netem and fq:
makes the devices A and B, and what is sent into one comes out of the other.
Prints "ready A B" once both are there; give them addresses then, or move one
into another network namespace (`ip link set B netns PID`). They go when the
program ends: by SIGTERM, after --seconds (default 3600), or when one is removed.

  --rate BITS      bits a second of each connection (protocol, addresses, ports),
                   each way; 20M, 512k, 1G are understood (default: no limit)
  --delay MS       each way (default 0)
  --loss PERCENT   of the packets, each way (default 0)
  --queue PACKETS  of 1500 bytes that may wait for a connection's turn, each way;
                   what comes then is dropped (default 100)
  --seed N         loses other packets (default 1)
  --cpu N          runs on this CPU only

At its end says on standard error how many packets arrived, were lost, and met a
full queue. Exit status: 0, 1 if it cannot run (it takes CAP_NET_ADMIN in the
namespace and /dev/net/tun), 2 for wrong usage.
)";

namespace {

constexpr double kLeastRate = 1000;
constexpr double kMostRate = 1e12;
constexpr double kMostDelayMillis = 60'000;
constexpr int64_t kMostQueue = 100'000;

int64_t TakeRate(Arguments& arguments) {
  const std::string given = arguments.Text("rate", "");
  if (given.empty()) return 0;
  absl::string_view text = given;
  const double unit = absl::ConsumeSuffix(&text, "k")   ? 1e3
                      : absl::ConsumeSuffix(&text, "M") ? 1e6
                      : absl::ConsumeSuffix(&text, "G") ? 1e9
                                                        : 1;
  double rate = 0;
  if (absl::SimpleAtod(text, &rate) && rate * unit >= kLeastRate && rate * unit <= kMostRate) {
    return static_cast<int64_t>(rate * unit);
  }
  arguments.Fault(absl::StrCat("--rate ", given, ": 1k to 1000G bits a second are needed, as in 20M"));
  return 0;
}

double TakeLoss(Arguments& arguments) {
  const std::string given = arguments.Text("loss", "0");
  absl::string_view text = given;
  absl::ConsumeSuffix(&text, "%");
  double percent = 0;
  if (absl::SimpleAtod(text, &percent) && percent >= 0 && percent <= 100) return percent / 100;
  arguments.Fault(absl::StrCat("--loss ", given, ": 0 to 100 percent are needed, as in 0.5"));
  return 0;
}

void TakeDevices(Arguments& arguments, EmulatorOptions& options) {
  const std::string given = arguments.Text("tun", "");
  const std::vector<std::string> names = absl::StrSplit(given, ',');
  if (names.size() != 2 || names[0] == names[1]) {
    arguments.Fault("--tun A,B is needed: the names of two devices");
    return;
  }
  options.devices = {names[0], names[1]};
  for (const std::string& name : names) {
    // What the kernel takes (dev_valid_name), and no '%', which would have it choose a number.
    const bool bad = name.empty() || name.size() >= IFNAMSIZ || name == "." || name == ".." ||
                     name.find_first_of("/:% \t\n") != std::string::npos;
    if (bad) arguments.Fault(absl::StrCat("--tun ", given, ": '", name, "' cannot be a device's name"));
  }
}

}  // namespace

absl::StatusOr<EmulatorOptions> ParseOptions(std::vector<std::string> words) {
  Arguments arguments(std::move(words));
  EmulatorOptions options;
  options.help = arguments.Flag("help");
  if (options.help) return options;
  TakeDevices(arguments, options);
  options.link.bits_per_second = TakeRate(arguments);
  options.link.delay_nanos =
      static_cast<int64_t>(arguments.Number("delay", 0, 0, kMostDelayMillis) * sys::kNanosPerMilli);
  options.link.loss = TakeLoss(arguments);
  options.link.queue_packets = arguments.Int("queue", options.link.queue_packets, 1, kMostQueue);
  options.link.seed = static_cast<uint64_t>(arguments.Int("seed", 1, 0, INT64_MAX));
  options.server = TakeServerOptions(arguments);
  if (absl::Status status = arguments.Finish(); !status.ok()) return status;
  return options;
}

}  // namespace sluice::bench::link
