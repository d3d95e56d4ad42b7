#include "protocols/config/commands/service_options.h"

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "protocols/config/commands/data_path.h"
#include "protocols/config/commands/logging.h"
#include "protocols/config/commands/network.h"
#include "protocols/config/commands/relay_target.h"
#include "protocols/config/values.h"
#include "sys/net/address_range.h"
#include "sys/net/socket_address.h"
#include "sys/net/socket_options.h"

namespace sluice::config {
namespace {

using service::FamilyPreference;
using service::ServiceOptions;
using service::ServiceType;

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
  if (draft.options.type == ServiceType::kTlsSniff) {
    return Invalid(
        "would split the ClientHello over segments, which is not supported, hellos go on as they come, take it away");
  }
  if (draft.options.type == ServiceType::kUdpPortMap) {
    if (!value.empty())
      return Invalid("is no mode, -s takes nothing behind it for udppm (one datagram, one answer), write -s");
    draft.options.single_datagram = true;
    return absl::OkStatus();
  }
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
  if (!value.empty() && value != "6")
    return Invalid("is no address family, these are -4 -6 -46 -64, write one of them");
  draft.options.family = value.empty() ? FamilyPreference::kIpv4Only : FamilyPreference::kPreferIpv4;
  return absl::OkStatus();
}

absl::Status ReadFamily6(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  if (!value.empty() && value != "4")
    return Invalid("is no address family, these are -4 -6 -46 -64, write one of them");
  draft.options.family = value.empty() ? FamilyPreference::kIpv6Only : FamilyPreference::kPreferIpv6;
  return absl::OkStatus();
}

absl::Status ReadSocketOptions(CommandContext& context, absl::string_view value,
                               std::vector<sys::SocketOptionValue>& options) {
  absl::StatusOr<sys::SocketOptionList> list = sys::ParseSocketOptionList(value);
  if (!list.ok())
    return absl::InvalidArgumentError(
        absl::StrCat("cannot be used: ", list.status().message(), ", correct it or leave it out"));
  for (const std::string& ignored : list->ignored) {
    context.Warning(absl::StrCat(ignored, ", take it out of the list"));
  }
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
  return SetLogTarget(value, draft.options.log);
}

absl::Status ReadLogFormat(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  return SetLogFormat(value, draft.options.log);
}

absl::Status ReadSilent(CommandContext& context, absl::string_view value, ServiceDraft&) {
  if (!value.empty()) return Invalid("is unknown, -t takes nothing behind it, write -t");
  if (context.state.noted.insert("-t").second) {
    context.Warning(
        "-t has no effect, it silences records of start and stop, which are never written to the log here, access "
        "records "
        "stay (log /dev/null or -l/dev/null ends them)");
  }
  return absl::OkStatus();
}

absl::Status ReadStackSize(CommandContext& context, absl::string_view value, ServiceDraft&) {
  if (!ParseInteger(value, 0, 1 << 30)) return Invalid("is no size, -S takes bytes, leave it out");
  if (context.state.noted.insert("-S").second) {
    context.Warning("-S has no effect, there is no thread and so no stack per connection, the option can go");
  }
  return absl::OkStatus();
}

// Old configurations carry it; it has never done anything here.
absl::Status ReadNothing(CommandContext&, absl::string_view value, ServiceDraft&) {
  return value.empty() ? absl::OkStatus()
                       : Invalid("is unknown, -n takes nothing behind it and does nothing, leave it out");
}

absl::Status ReadDaemon(CommandContext& context, absl::string_view value, ServiceDraft&) {
  if (!value.empty()) return Invalid("is unknown, -d takes nothing behind it, write the command daemon instead");
  context.Warning("-d has no effect, one service of several cannot go to the background, write the command daemon");
  return absl::OkStatus();
}

absl::Status ReadTransparent(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  if (!value.empty()) return Invalid("is unknown, -T takes nothing behind it, write -T");
  draft.options.transparent = true;
  return absl::OkStatus();
}

absl::Status ReadProxyProtocol(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  draft.options.proxy_protocol.required = true;
  draft.options.proxy_protocol.sources.clear();
  if (value.empty()) return absl::OkStatus();
  for (const absl::string_view word : absl::StrSplit(value, ',')) {
    absl::StatusOr<sys::AddressRange> range = sys::AddressRange::Parse(word);
    if (!range.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("lists ", Quoted(word), " as a source, which is no address or range: ", range.status().message(),
                       ", write -H10.0.0.1,192.0.2.0/24"));
    }
    draft.options.proxy_protocol.sources.push_back(*std::move(range));
  }
  return absl::OkStatus();
}

absl::Status ReadCredentials(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  const auto level = value.empty() ? std::optional<int64_t>(0) : ParseInteger(value, 0, 3);
  if (!level) {
    return Invalid(
        "is none of -u (never ask for a name and a password), -u1 (where the client offers it), -u2 (insist on it) and "
        "-u3 (check it at once), write one of them");
  }
  constexpr service::ClientCredentials kLevels[] = {
      service::ClientCredentials::kNever, service::ClientCredentials::kOffered, service::ClientCredentials::kRequired,
      service::ClientCredentials::kVerified};
  draft.options.credentials = kLevels[*level];
  return absl::OkStatus();
}

absl::Status ReadTold(absl::string_view value, std::optional<sys::SocketAddress>& told) {
  absl::StatusOr<sys::SocketAddress> address = sys::SocketAddress::ParseIp(value, 0);
  if (!address.ok() || address->is_any()) {
    return Invalid(
        "is no address that clients can be told, names are not looked up here, give an IPv4 or IPv6 address");
  }
  told = *std::move(address);
  return absl::OkStatus();
}

absl::Status ReadToldExternal(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  return ReadTold(value, draft.options.socks.told_external);
}

absl::Status ReadToldInternal(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  return ReadTold(value, draft.options.socks.told_internal);
}

absl::Status ReadDisclosure(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  const auto level = value.empty() ? std::optional<int64_t>(0) : ParseInteger(value, 0, 2);
  if (!level) {
    return Invalid(
        "is neither -a (origins are told nothing of the client), -a1 (a random address) nor -a2 (its address in "
        "X-Forwarded-For), write one of them, or none for Forwarded");
  }
  constexpr service::ClientDisclosure kLevels[] = {
      service::ClientDisclosure::kNothing, service::ClientDisclosure::kRandom, service::ClientDisclosure::kReal};
  draft.options.http.disclosure = kLevels[*level];
  return absl::OkStatus();
}

absl::Status ReadKeepUpstreams(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  if (value != "0" && value != "1") {
    return Invalid(
        "is neither -k0 (a connection to an origin serves one client) nor -k1 (idle ones are kept for others, the "
        "default), write one of them");
  }
  draft.options.http.keep_upstreams = value == "1";
  return absl::OkStatus();
}

absl::Status ReadTlsDemand(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  const auto level = ParseInteger(value, 0, 4);
  if (!level) {
    return Invalid(
        "is none of -c0 to -c4 (1: a ClientHello is required, 2: a ServerHello as well, 3: the server's certificate, "
        "4: "
        "the client's), write one of them");
  }
  draft.options.sniff.demand = static_cast<service::TlsDemand>(*level);
  return absl::OkStatus();
}

absl::Status ReadTargetPort(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  const auto port = ParseInteger(value, 1, 65535);
  if (!port) return Invalid("is no port to connect to, ports are 1 to 65535, write -P443");
  draft.options.sniff.target_port = static_cast<uint16_t>(*port);
  return absl::OkStatus();
}

absl::Status ReadDefaultTarget(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  if (draft.options.type != ServiceType::kTlsSniff) {
    absl::StatusOr<HostAndPort> target = ParseHostAndPort(value, 80);
    if (!target.ok()) return target.status();
    draft.options.http.default_host = target->host;
    draft.options.http.default_port = target->port;
  }
  if (draft.options.type != ServiceType::kHttpProxy) {
    absl::StatusOr<service::RelayTarget> target = ParseRelayTargetAndPort(value);
    if (!target.ok()) return target.status();
    draft.options.default_target = *std::move(target);
  }
  return absl::OkStatus();
}

absl::Status ReadUdpPolicy(CommandContext&, absl::string_view value, ServiceDraft& draft) {
  const auto level = value.empty() ? std::optional<int64_t>(0) : ParseInteger(value, 0, 3);
  if (!level) {
    return Invalid(
        "is none of -U0 to -U3 (1: a record for each new destination, 2: the rules are asked for each, 3: both), write "
        "one of them");
  }
  draft.options.socks.log_each_destination = (*level & 1) != 0;
  draft.options.socks.judge_each_destination = (*level & 2) != 0;
  return absl::OkStatus();
}

// --- The table.

using Reader = absl::Status (*)(CommandContext& context, absl::string_view value, ServiceDraft& draft);

// Services as bits.
constexpr int kTcppm = 1;
constexpr int kSocks = 2;
constexpr int kProxy = 4;
constexpr int kUdppm = 8;
constexpr int kTlspr = 16;
constexpr int kAuto = 32;
constexpr int kAll = ~0;
constexpr int kStreams = ~kUdppm;

int BitOf(ServiceType type) {
  switch (type) {
    case ServiceType::kTcpPortMap:
      return kTcppm;
    case ServiceType::kUdpPortMap:
      return kUdppm;
    case ServiceType::kSocks:
      return kSocks;
    case ServiceType::kHttpProxy:
      return kProxy;
    case ServiceType::kTlsSniff:
      return kTlspr;
    case ServiceType::kAuto:
      return kAuto;
  }
  return 0;
}

struct Option {
  absl::string_view letters;  // with the dash; the longest that fits counts
  absl::string_view group;    // options that exclude each other; empty: may be repeated
  Reader read;                // nullptr: for no service
  absl::string_view why_not;  // said by the services that do not take it: why, what instead
  int services = kAll;        // that take it
};

constexpr absl::string_view kNotBuilt = "is not built yet, it would be accepted without effect, take it away";

constexpr absl::string_view kStreamsOnly = "is for streams, datagrams have no use for it, take it away";
constexpr absl::string_view kNoToldAddress =
    "is an option of socks, nothing else tells clients an address, take it away";

constexpr Option kOptions[] = {
    {"-p", "-p", ReadPort, ""},
    {"-i", "-i", ReadListenAddress, ""},
    {"-e", "", ReadExternal, ""},
    {"-4", "address family", ReadFamily4, ""},
    {"-6", "address family", ReadFamily6, ""},
    {"-Di", "-Di", ReadListenDevice, ""},
    {"-De", "-De", ReadOutgoingDevice, ""},
    {"-oc", "", ReadClientOptions, kStreamsOnly, kStreams},
    {"-os", "", ReadUpstreamOptions, ""},
    {"-ol", "", ReadListenOptions, ""},
    {"-s", "-s", ReadSplice, ""},
    {"-g", "-g", ReadGrace, kStreamsOnly, kStreams},
    {"-b", "-b", ReadBuffer, kStreamsOnly, kStreams},
    {"-C", "-C", ReadHalfClose, kStreamsOnly, kStreams},
    {"-l", "-l", ReadLog, ""},
    {"-f", "-f", ReadLogFormat, ""},
    {"-t", "-t", ReadSilent, ""},
    {"-S", "-S", ReadStackSize, ""},
    {"-n", "-n", ReadNothing, ""},
    {"-d", "-d", ReadDaemon, ""},
    {"-I", "", nullptr, "is inetd mode, which is not supported, sluice opens its ports itself, take it away"},
    {"-T", "-T", ReadTransparent, kStreamsOnly, kStreams},
    {"-H", "-H", ReadProxyProtocol, kStreamsOnly, kStreams},
    {"-R", "", nullptr, kNotBuilt},
    {"-r", "", nullptr, kNotBuilt},
    {"-or", "", nullptr, kNotBuilt},
    {"-oR", "", nullptr, kNotBuilt},
    {"-ni", "", nullptr, kNotBuilt},
    {"-ne", "", nullptr, kNotBuilt},
    {"-N", "-Ne", ReadToldExternal, kNoToldAddress, kSocks | kAuto},
    {"-Ne", "-Ne", ReadToldExternal, kNoToldAddress, kSocks | kAuto},
    {"-Ni", "-Ni", ReadToldInternal, kNoToldAddress, kSocks | kAuto},
    {"-U", "-U", ReadUdpPolicy, "is an option of socks, nothing else has UDP associations, take it away",
     kSocks | kAuto},
    {"-u", "-u", ReadCredentials, "is an option of proxy, socks and auto, nothing else asks for a name, take it away",
     kSocks | kProxy | kAuto},
    {"-a", "-a", ReadDisclosure, "is an option of proxy, nothing else looks into requests, take it away",
     kProxy | kAuto},
    {"-k", "-k", ReadKeepUpstreams,
     "is an option of proxy, nothing else serves clients over one upstream, take it away", kProxy | kAuto},
    {"-h", "-h", ReadDefaultTarget,
     "is an option of proxy, tlspr and auto, whose clients may name no target, take it away", kProxy | kTlspr | kAuto},
    {"-P", "-P", ReadTargetPort, "is an option of tlspr and auto, nothing else lacks a port, take it away",
     kTlspr | kAuto},
    {"-x", "", nullptr, "is an option of the mail proxies, nothing else offers STARTTLS, take it away"},
    {"-X", "", nullptr, "is an option of tlspr and not built yet, it would have no effect, take it away"},
    {"-c", "-c", ReadTlsDemand,
     "is an option of tlspr and auto, nothing else looks for TLS in what it relays, use tlspr for it", kTlspr | kAuto},
    {"-F", "", nullptr, "is an option of dnspr, nothing else answers names, take it away"},
};

const Option* FindOption(absl::string_view word) {
  const Option* best = nullptr;
  for (const Option& option : kOptions) {
    if (!absl::StartsWith(word, option.letters)) continue;
    if (best == nullptr || option.letters.size() > best->letters.size()) best = &option;
  }
  return best;
}

bool Takes(ServiceType service, const Option& option) {
  return option.read != nullptr && (option.services & BitOf(service)) != 0;
}

// "-p -i -e ..."
std::string KnownOptions(ServiceType service) {
  std::string result;
  for (const Option& option : kOptions) {
    if (Takes(service, option)) absl::StrAppend(&result, result.empty() ? "" : " ", option.letters);
  }
  return result;
}

bool ReadOption(CommandContext& context, absl::string_view word, std::set<absl::string_view>& seen,
                ServiceDraft& draft) {
  const Option* option = FindOption(word);
  if (option == nullptr) {
    context.Error(absl::StrCat(Quoted(word), " is unknown, nothing is passed over in silence, ", context.name(),
                               " takes ", KnownOptions(draft.options.type)));
    return false;
  }
  absl::Status status;
  if (!Takes(draft.options.type, *option)) {
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

}  // namespace sluice::config
