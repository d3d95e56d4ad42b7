#include "protocols/config/commands/service_options.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "protocols/config/commands/logging.h"
#include "protocols/config/commands/network.h"
#include "protocols/config/values.h"
#include "sys/net/socket_address.h"
#include "sys/net/socket_options.h"

namespace sluice::config {
namespace {

using service::FamilyPreference;
using service::ServiceOptions;

// Larger reads and thresholds than any pipe or buffer has say nothing.
constexpr int64_t kMostBytes = 1 << 30;
constexpr int64_t kMostReadBytes = 1 << 20;

absl::Status Invalid(absl::string_view text) { return absl::InvalidArgumentError(text); }

// --- Readers: `value` is what stands behind the letters. The error goes on "'-pX' ...".

absl::Status ReadPort(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  const auto port = ParseInteger(value, 0, 65535);
  if (!port) return Invalid("is no port, ports are 0 (any free one) to 65535, glue one to the letter: -p3128");
  draft.port = static_cast<uint16_t>(*port);
  return absl::OkStatus();
}

absl::Status ReadListenAddress(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  absl::StatusOr<sys::SocketAddress> address = ParseLocalAddress(value, /*allow_unix=*/true);
  if (address.ok()) draft.options.listen = *address;
  return address.status();
}

absl::Status ReadExternal(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  absl::StatusOr<sys::SocketAddress> address = ParseLocalAddress(value, /*allow_unix=*/false);
  if (address.ok()) SetExternal(*address, draft.options);
  return address.status();
}

absl::Status ReadSplice(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  return ParseSplice(value, draft.options.relay.splice);
}

absl::Status ReadGrace(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  return ParseGrace(value, draft.options.relay.grace);
}

absl::Status ReadBuffer(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  const auto bytes = ParseInteger(value, 1, kMostReadBytes);
  if (!bytes) return Invalid("bounds no read, it takes 1 to 1048576 bytes, write -b65536 or leave it out");
  draft.options.relay.read_bytes = static_cast<int>(*bytes);
  return absl::OkStatus();
}

absl::Status ReadHalfClose(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  if (!value.empty() && value != "1") {
    return Invalid(
        "is neither -C (the first end ends the session) nor -C1 (half-closed sessions go on), write one of them");
  }
  draft.options.relay.half_close = value == "1";
  return absl::OkStatus();
}

absl::Status ReadFamily4(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  if (!value.empty() && value != "6") return Invalid("is none of -4, -6, -46 and -64, write one of them");
  draft.options.family = value.empty() ? FamilyPreference::kIpv4Only : FamilyPreference::kPreferIpv4;
  return absl::OkStatus();
}

absl::Status ReadFamily6(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  if (!value.empty() && value != "4") return Invalid("is none of -4, -6, -46 and -64, write one of them");
  draft.options.family = value.empty() ? FamilyPreference::kIpv6Only : FamilyPreference::kPreferIpv6;
  return absl::OkStatus();
}

absl::Status ReadSocketOptions(CommandContext& context, absl::string_view value,
                               std::vector<sys::SocketOptionValue>& options) {
  absl::StatusOr<sys::SocketOptionList> list = sys::ParseSocketOptionList(value);
  if (!list.ok()) return absl::InvalidArgumentError(absl::StrCat("cannot be read: ", list.status().message()));
  for (const std::string& ignored : list->ignored) context.Warning(ignored);
  for (sys::SocketOptionValue& option : list->options) {
    if (option.option == sys::SocketOption::kTcpMaxseg && !option.value) {
      if (context.state.maxseg == 0) {
        return Invalid("names TCP_MAXSEG without a value, none is known, write maxseg N above or TCP_MAXSEG=N");
      }
      option.value = context.state.maxseg;
    }
    options.push_back(option);
  }
  return absl::OkStatus();
}

absl::Status ReadClientOptions(CommandContext& context, absl::string_view value, ServiceDraft& draft) {
  return ReadSocketOptions(context, value, draft.options.client_socket_options);
}

absl::Status ReadUpstreamOptions(CommandContext& context, absl::string_view value, ServiceDraft& draft) {
  return ReadSocketOptions(context, value, draft.options.upstream_socket_options);
}

absl::Status ReadListenOptions(CommandContext& context, absl::string_view value, ServiceDraft& draft) {
  return ReadSocketOptions(context, value, draft.options.listen_socket_options);
}

absl::Status ReadListenDevice(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  draft.options.listen_device = std::string(value);
  return CheckInterfaceName(value);
}

absl::Status ReadOutgoingDevice(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  draft.options.outgoing_device = std::string(value);
  return CheckInterfaceName(value);
}

absl::Status ReadLog(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  return SetLogTarget(value, "", draft.options.log);
}

absl::Status ReadLogFormat(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  return SetLogFormat(value, draft.options.log);
}

absl::Status ReadSilent(CommandContext& context, absl::string_view value, ServiceDraft&) {
  if (!value.empty()) return Invalid("takes nothing behind it, write -t");
  if (context.state.noted.insert("-t").second) {
    context.Warning(
        "-t has no effect, it silences records of start and stop, which are never written to the log here, access "
        "records "
        "stay (log /dev/null or -l/dev/null ends them)");
  }
  return absl::OkStatus();
}

absl::Status ReadStackSize(CommandContext& context, absl::string_view value, ServiceDraft&) {
  if (!ParseInteger(value, 0, kMostBytes)) return Invalid("is no size, -S takes bytes, leave it out");
  if (context.state.noted.insert("-S").second) {
    context.Warning("-S has no effect, there is no thread and so no stack per connection, the option can go");
  }
  return absl::OkStatus();
}

// Old configurations carry it; it has never done anything here.
absl::Status ReadNothing(CommandContext&, absl::string_view value, ServiceDraft&) {
  return value.empty() ? absl::OkStatus() : Invalid("is unknown, a bare -n is all there is, leave it out");
}

absl::Status ReadDaemon(CommandContext& context, absl::string_view value, ServiceDraft&) {
  if (!value.empty()) return Invalid("is unknown, -d takes nothing behind it, write the command daemon instead");
  context.Warning("-d has no effect, one service of several cannot go to the background, write the command daemon");
  return absl::OkStatus();
}

// --- The table.

using Reader = absl::Status (*)(CommandContext& context, absl::string_view value, ServiceDraft& draft);

struct Option {
  absl::string_view letters;  // with the dash; the longest that fits counts
  absl::string_view group;    // options that exclude each other; empty: may be repeated
  Reader read;                // nullptr: not for a TCP relay
  absl::string_view why_not;  // why, what instead
};

constexpr absl::string_view kNotBuilt = "is not built yet, it would be accepted without effect, take it away";

constexpr Option kOptions[] = {
    {"-p", "-p", ReadPort, ""},
    {"-i", "-i", ReadListenAddress, ""},
    {"-e", "", ReadExternal, ""},
    {"-4", "address family", ReadFamily4, ""},
    {"-6", "address family", ReadFamily6, ""},
    {"-Di", "-Di", ReadListenDevice, ""},
    {"-De", "-De", ReadOutgoingDevice, ""},
    {"-oc", "", ReadClientOptions, ""},
    {"-os", "", ReadUpstreamOptions, ""},
    {"-ol", "", ReadListenOptions, ""},
    {"-s", "-s", ReadSplice, ""},
    {"-g", "-g", ReadGrace, ""},
    {"-b", "-b", ReadBuffer, ""},
    {"-C", "-C", ReadHalfClose, ""},
    {"-l", "-l", ReadLog, ""},
    {"-f", "-f", ReadLogFormat, ""},
    {"-t", "-t", ReadSilent, ""},
    {"-S", "-S", ReadStackSize, ""},
    {"-n", "-n", ReadNothing, ""},
    {"-d", "-d", ReadDaemon, ""},
    {"-I", "", nullptr, "is inetd mode, which is not supported, sluice opens its ports itself, take it away"},
    {"-T", "", nullptr, kNotBuilt},
    {"-H", "", nullptr, kNotBuilt},
    {"-R", "", nullptr, kNotBuilt},
    {"-r", "", nullptr, kNotBuilt},
    {"-or", "", nullptr, kNotBuilt},
    {"-oR", "", nullptr, kNotBuilt},
    {"-ni", "", nullptr, kNotBuilt},
    {"-ne", "", nullptr, kNotBuilt},
    {"-N", "", nullptr, "is an option of socks, nothing else tells clients an address, take it away"},
    {"-U", "", nullptr, "is an option of socks, nothing else has UDP associations, take it away"},
    {"-u", "", nullptr, "is an option of proxy and socks, a port map asks nobody for a name, take it away"},
    {"-a", "", nullptr, "is an option of proxy, a port map does not look into what it relays, take it away"},
    {"-h", "", nullptr, "is an option of proxy and tlspr, a port map has its destination as an argument, take it away"},
    {"-P", "", nullptr, "is an option of tlspr, a port map has its port as an argument, take it away"},
    {"-x", "", nullptr, "is an option of the mail proxies, a port map does not look into what it relays, take it away"},
    {"-X", "", nullptr, "is an option of tlspr, a port map does not look into what it relays, use tlspr for it"},
    {"-c", "", nullptr, "is an option of tlspr, a port map does not look into what it relays, use tlspr for it"},
    {"-F", "", nullptr, "is an option of dnspr, a port map answers no names, take it away"},
};

const Option* FindOption(absl::string_view word) {
  const Option* best = nullptr;
  for (const Option& option : kOptions) {
    if (!absl::StartsWith(word, option.letters)) continue;
    if (best == nullptr || option.letters.size() > best->letters.size()) best = &option;
  }
  return best;
}

bool ReadOption(CommandContext& context, absl::string_view word, std::set<absl::string_view>& seen,
                ServiceDraft& draft) {
  const Option* option = FindOption(word);
  if (option == nullptr) {
    context.Error(
        absl::StrCat(Quoted(word), " is unknown, no service has this option, see protocols/config/README.md"));
    return false;
  }
  absl::Status status;
  if (option->read == nullptr) {
    status = Invalid(option->why_not);
  } else {
    if (!option->group.empty() && !seen.insert(option->group).second) {
      context.Warning(absl::StrCat(option->group, " is given twice, the last one counts, take the other away"));
    }
    status = option->read(context, word.substr(option->letters.size()), draft);
  }
  if (status.ok()) return true;
  context.Error(absl::StrCat(Quoted(word), " ", status.message()));
  return false;
}

}  // namespace

int ReadServiceOptions(CommandContext& context, ServiceDraft& draft) {
  std::set<absl::string_view> seen;
  bool good = true;
  int i = 1;
  for (; i <= context.arguments() && absl::StartsWith(context.argument(i), "-"); ++i) {
    good = ReadOption(context, context.argument(i), seen, draft) && good;
  }
  return good ? i : 0;
}

absl::Status ParseSplice(absl::string_view text, relay::SpliceOptions& splice) {
  relay::SpliceOptions result;
  const absl::string_view mode = text.substr(0, text.find(':'));
  absl::string_view tuning = text.substr(mode.size());
  if (!mode.empty()) {
    const auto bits = ParseInteger(mode, 0, 7);
    if (!bits || mode.size() != 1) {
      return Invalid("is no splice mode, these are -s0 (off) to -s3 and -s5 to -s7 (automatic), write one of them");
    }
    if (*bits == 4) {
      return Invalid("would splice no direction where it pays, 4 is not a mode, write -s0 for off or -s5, -s6, -s7");
    }
    result.from_upstream = (*bits & 1) != 0;
    result.from_client = (*bits & 2) != 0;
    result.automatic = (*bits & 4) != 0;
  }
  if (absl::ConsumePrefix(&tuning, ":")) {
    const std::vector<absl::string_view> words = absl::StrSplit(tuning, ',');
    if (words.size() != 3)
      return Invalid("does not tune splicing, behind : stand MIN,STREAK,SMALL, write -s:16384,2,4096");
    const auto min = ParseInteger(words[0], 1, kMostBytes);
    const auto streak = ParseInteger(words[1], 1, 1'000'000);
    const auto small = ParseInteger(words[2], 1, kMostBytes);
    if (!min || !streak || !small) {
      return Invalid(
          "does not tune splicing, MIN and SMALL are 1 to 1073741824 bytes and STREAK is 1 to 1000000 reads, write "
          "-s:16384,2,4096");
    }
    result.min_bytes = static_cast<int>(*min);
    result.streak = static_cast<int>(*streak);
    result.small_bytes = static_cast<int>(*small);
  }
  splice = result;
  return absl::OkStatus();
}

absl::Status ParseGrace(absl::string_view text, relay::GraceOptions& grace) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, ',');
  if (words.size() != 3) return Invalid("is no grace delay, it takes TRAFF,NUM,DELAY, write -g8000,2,2");
  const auto traffic = ParseInteger(words[0], 1, kMostBytes);
  const auto reads = ParseInteger(words[1], 1, 1'000'000);
  // A read that waits longer than this looks like a dead connection.
  const auto delay = ParseInteger(words[2], 1, 10'000);
  if (!traffic || !reads || !delay) {
    return Invalid(
        "is no grace delay, TRAFF is 1 to 1073741824 bytes, NUM 1 to 1000000 reads and DELAY 1 to 10000 milliseconds, "
        "write -g8000,2,2 or leave it out");
  }
  grace = {static_cast<int>(*traffic), static_cast<int>(*reads), static_cast<int>(*delay)};
  return absl::OkStatus();
}

}  // namespace sluice::config
