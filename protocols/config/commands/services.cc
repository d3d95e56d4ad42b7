#include "protocols/config/commands/services.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "protocols/config/commands/access.h"
#include "protocols/config/commands/relay_target.h"
#include "protocols/config/commands/service_options.h"
#include "protocols/config/commands/tls.h"
#include "protocols/config/values.h"
#include "protocols/service/snapshot.h"
#include "sys/net/socket_address.h"

namespace sluice::config {
namespace {

using service::FamilyPreference;
using service::ServiceOptions;
using service::ServiceType;

ServiceDraft Begin(CommandContext& context, ServiceType type, absl::string_view log_name) {
  context.state.service_seen = true;
  context.state.unused.clear();
  ServiceDraft draft{context.state.settings, std::nullopt};
  draft.options.type = type;
  draft.options.log_name = std::string(log_name);
  draft.options.location = context.location();
  return draft;
}

// An address that was never said is 0.0.0.0, and :: for a service that prefers IPv6: a listener serves one family.
void SetListenPort(uint16_t port, ServiceOptions& options) {
  if (options.listen.family() == sys::AddressFamily::kNone) {
    const bool six = options.family == FamilyPreference::kIpv6Only || options.family == FamilyPreference::kPreferIpv6;
    options.listen = sys::SocketAddress::Any(six ? sys::AddressFamily::kIpv6 : sys::AddressFamily::kIpv4, port);
  } else if (options.listen.is_ip()) {
    options.listen.set_port(port);
  }
}

// What follows from `timeouts` for the data phase.
void SetRelayTimes(ServiceOptions& options) {
  options.relay.connect_nanos = options.timeouts.connect;
  options.relay.idle_nanos = options.timeouts.connection_long;
  options.relay.half_closed_idle_nanos = options.timeouts.connection_short;
  options.relay.linger_nanos = options.timeouts.linger;
}

// False: an error was said.
bool CheckProxyProtocol(CommandContext& context, const ServiceOptions& options) {
  const service::ProxyProtocol& protocol = options.proxy_protocol;
  if (!protocol.required) return true;
  if (options.listen.is_unix() && !protocol.sources.empty()) {
    context.Error("-H lists addresses, which those who come to a unix socket have not, write -H alone");
    return false;
  }
  if (protocol.sources.empty() && options.listen.is_ip() && !options.listen.is_loopback() &&
      context.state.noted.insert("-H").second) {
    context.Warning(
        "-H without a list lets whoever connects say which client it is, rules and records believe it, name the "
        "balancers: -H192.0.2.1,10.0.0.0/8");
  }
  return true;
}

// `transparent` concerns whom it can. False: an error was said.
bool CheckTransparent(CommandContext& context, ServiceOptions& options) {
  if (!options.transparent) return true;
  if (service::IsDatagram(options.type)) {
    options.transparent = false;
    return true;
  }
  if (!options.listen.is_unix()) return true;
  context.Error("-T asks where connections were redirected from, which those to a unix socket never are, take it away");
  return false;
}

void Finish(CommandContext& context, ServiceDraft draft) {
  if (!CheckTransparent(context, draft.options)) return;
  if (!CheckProxyProtocol(context, draft.options) || !TakeTlsSettings(context, draft.options)) return;
  SetRelayTimes(draft.options);
  FinishAccess(context, draft.options);
  context.state.snapshot->services.push_back(std::make_unique<const ServiceOptions>(std::move(draft.options)));
}

void WarnIfNamesAreNotChecked(CommandContext& context, const ServiceOptions& options) {
  const bool verified = options.credentials == service::ClientCredentials::kVerified;
  if (options.credentials != service::ClientCredentials::kRequired && !verified) return;
  const absl::string_view option = verified ? "-u3" : "-u2";
  if (options.auth.verifies() || !context.state.noted.insert("-u2").second) return;
  context.Warning(absl::StrCat(
      option,
      " makes every client give a name and a password, but neither is checked under auth none and iponly, and "
      "whoever gives some is let in, do not rely on it"));
}

// SRCPORT. `-p` says the same; they must not disagree, since 3proxy's answer depends on their order.
std::optional<uint16_t> ListenPort(CommandContext& context, const std::string& word, std::optional<uint16_t> option) {
  const auto port = ParseInteger(word, 0, 65535);
  if (!port) {
    context.Error(absl::StrCat("SRCPORT ", Quoted(word), " is no port, ports are 0 (any free one) to 65535, give one"));
    return std::nullopt;
  }
  if (option && *option != *port) {
    context.Error(absl::StrCat("SRCPORT ", word, " and -p", *option,
                               " are two ports, the service listens on one, take -p", *option, " away"));
    return std::nullopt;
  }
  return static_cast<uint16_t>(*port);
}

// DST and DSTPORT.
std::optional<service::RelayTarget> Target(CommandContext& context, const std::string& host, const std::string& port) {
  absl::StatusOr<service::RelayTarget> target = ParseRelayTarget(host);
  if (!target.ok()) context.Error(absl::StrCat("DST ", Quoted(host), " ", target.status().message()));
  // Unix sockets have no port; the word must be there all the same.
  const bool is_unix = absl::StartsWith(host, "unix:");
  const auto number = ParseInteger(port, is_unix ? 0 : 1, 65535);
  if (!number) {
    context.Error(absl::StrCat("DSTPORT ", Quoted(port), " is no port, ports are 1 to 65535",
                               is_unix ? " (write 0 for a unix socket)" : "", ", give one"));
  }
  if (!target.ok() || !number) return std::nullopt;
  target->port = is_unix ? 0 : static_cast<uint16_t>(*number);
  if (target->address.is_ip()) target->address.set_port(target->port);
  return *std::move(target);
}

// Services whose clients name the destination have no words behind their options.
bool NothingBehindOptions(CommandContext& context, int first) {
  if (first > context.arguments()) return true;
  const std::string& word = context.argument(first);
  absl::string_view instead = "give the port as -p, take it away";
  if (absl::StartsWith(word, "#")) instead = "give comments a line of their own, beginning with #";
  context.Error(
      absl::StrCat(Quoted(word), " stands behind the options, ", context.name(), " takes nothing there, ", instead));
  return false;
}

// Whether each connection would come back to the service.
bool LeadsToItself(const ServiceOptions& options) {
  if (options.transparent) return false;  // the destination is not used
  if (options.listen.is_unix()) return options.target.address == options.listen;
  if (options.listen.port() == 0 || options.listen.port() != options.target.port) return false;
  if (options.target.address == options.listen) return true;
  return options.listen.is_any() && options.target.address.is_ip() && options.target.address.is_loopback() &&
         options.target.address.family() == options.listen.family();
}

// What tcppm and udppm have in common: [OPTIONS] SRCPORT DST DSTPORT.
std::optional<ServiceDraft> ReadPortMap(CommandContext& context, ServiceType type, absl::string_view log_name) {
  ServiceDraft draft = Begin(context, type, log_name);
  const int first = ReadServiceOptions(context, draft);
  if (first == 0) return std::nullopt;
  const int positionals = context.arguments() - first + 1;
  if (positionals != 3) {
    std::string instead = absl::StrCat("write ", context.name(), " [OPTIONS] SRCPORT DST DSTPORT");
    for (int i = first; i <= context.arguments(); ++i) {
      if (absl::StartsWith(context.argument(i), "-")) instead = "put the options before them";
      if (absl::StartsWith(context.argument(i), "#")) instead = "give comments a line of their own, beginning with #";
    }
    context.Error(absl::StrCat("behind the options stand three words, SRCPORT DST DSTPORT, here there are ",
                               positionals, ", ", instead));
    return std::nullopt;
  }
  const auto port = ListenPort(context, context.argument(first), draft.port);
  auto target = Target(context, context.argument(first + 1), context.argument(first + 2));
  if (!port || !target) return std::nullopt;
  draft.options.target = *std::move(target);
  SetListenPort(*port, draft.options);
  // Not an error: whether it is true is only known where it runs (another network namespace has another loopback), and
  // each such connection is refused there.
  if (LeadsToItself(draft.options)) {
    context.Warning(absl::StrCat("the destination is the service itself, it listens on ",
                                 draft.options.listen.ToString(),
                                 " and every connection will be refused, name another destination"));
  }
  return draft;
}

}  // namespace

void HandleTcppm(CommandContext& context) {
  std::optional<ServiceDraft> draft = ReadPortMap(context, ServiceType::kTcpPortMap, "TCPPM");
  if (draft) Finish(context, *std::move(draft));
}

void HandleUdppm(CommandContext& context) {
  std::optional<ServiceDraft> draft = ReadPortMap(context, ServiceType::kUdpPortMap, "UDPPM");
  if (!draft) return;
  if (draft->options.listen.is_unix() || draft->options.target.address.is_unix()) {
    context.Error("relays UDP, which unix sockets do not speak, give an IPv4 or IPv6 address");
    return;
  }
  Finish(context, *std::move(draft));
}

namespace {

// A service whose clients say where to.
std::optional<ServiceDraft> ReadProxy(CommandContext& context, ServiceType type, absl::string_view log_name,
                                      uint16_t default_port) {
  ServiceDraft draft = Begin(context, type, log_name);
  const int first = ReadServiceOptions(context, draft);
  if (first == 0 || !NothingBehindOptions(context, first)) return std::nullopt;
  SetListenPort(draft.port.value_or(default_port), draft.options);
  return draft;
}

}  // namespace

void HandleSocks(CommandContext& context) {
  std::optional<ServiceDraft> draft = ReadProxy(context, ServiceType::kSocks, "SOCKS", 1080);
  if (!draft) return;
  WarnIfNamesAreNotChecked(context, draft->options);
  Finish(context, *std::move(draft));
}

void HandleProxy(CommandContext& context) {
  std::optional<ServiceDraft> draft = ReadProxy(context, ServiceType::kHttpProxy, "PROXY", 3128);
  if (!draft) return;
  WarnIfNamesAreNotChecked(context, draft->options);
  Finish(context, *std::move(draft));
}

void HandleAuto(CommandContext& context) {
  std::optional<ServiceDraft> draft = ReadProxy(context, ServiceType::kAuto, "AUTO", 8080);
  if (!draft) return;
  WarnIfNamesAreNotChecked(context, draft->options);
  Finish(context, *std::move(draft));
}

void HandleTlspr(CommandContext& context) {
  std::optional<ServiceDraft> draft = ReadProxy(context, ServiceType::kTlsSniff, "TLSPR", 1443);
  if (draft) Finish(context, *std::move(draft));
}

}  // namespace sluice::config
