#include "protocols/config/command_table.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "protocols/config/commands/access.h"
#include "protocols/config/commands/dns.h"
#include "protocols/config/commands/logging.h"
#include "protocols/config/commands/network.h"
#include "protocols/config/commands/process.h"
#include "protocols/config/commands/services.h"
#include "protocols/config/commands/tls.h"
#include "protocols/config/commands/users.h"
#include "protocols/config/values.h"

namespace sluice::config {
namespace {

constexpr int kMany = Command::kUnbounded;

constexpr CommandStatus kSupported = CommandStatus::kSupported;
constexpr CommandStatus kIgnored = CommandStatus::kIgnored;
constexpr CommandStatus kNotBuilt = CommandStatus::kNotBuilt;
constexpr CommandStatus kRefused = CommandStatus::kRefused;

constexpr CommandScope kBelow = CommandScope::kServicesBelow;
constexpr CommandScope kEverything = CommandScope::kEverything;
constexpr CommandScope kScript = CommandScope::kScript;

constexpr absl::string_view kRule = "[USERS SOURCES TARGETS PORTS OPERATIONS WEEKDAYS TIMES [WEIGHT]]";

constexpr Command kCommands[] = {
    // services
    {"tcppm", "[OPTIONS] SRCPORT DST DSTPORT", 3, kMany, kSupported, kScript, "Snapshot::services (kTcpPortMap)",
     HandleTcppm},
    {"proxy", "[OPTIONS]", 0, kMany, kSupported, kScript, "Snapshot::services (kHttpProxy)", HandleProxy},
    {"socks", "[OPTIONS]", 0, kMany, kSupported, kScript, "Snapshot::services (kSocks)", HandleSocks},
    {"udppm", "[OPTIONS] SRCPORT DST DSTPORT", 3, kMany, kSupported, kScript, "Snapshot::services (kUdpPortMap)",
     HandleUdppm},
    {"auto", "[OPTIONS]", 0, kMany, kSupported, kScript, "Snapshot::services (kAuto)", HandleAuto},
    {"tlspr", "[OPTIONS]", 0, kMany, kSupported, kScript, "Snapshot::services (kTlsSniff)", HandleTlspr},
    {"dnspr", "[OPTIONS]", 0, kMany, kNotBuilt, kScript, "protocols/gateways", nullptr},
    {"pop3p", "[OPTIONS]", 0, kMany, kNotBuilt, kScript, "protocols/gateways", nullptr},
    {"imapp", "[OPTIONS]", 0, kMany, kNotBuilt, kScript, "protocols/gateways", nullptr},
    {"smtpp", "[OPTIONS]", 0, kMany, kNotBuilt, kScript, "protocols/gateways", nullptr},
    {"ftppr", "[OPTIONS]", 0, kMany, kNotBuilt, kScript, "protocols/gateways", nullptr},
    {"admin", "[OPTIONS]", 0, kMany, kNotBuilt, kScript, "protocols/admin", nullptr},
    {"icqpr", "[OPTIONS]", 0, kMany, kRefused, kScript, "the service that it relayed to is gone, use tcppm", nullptr},
    {"msnpr", "[OPTIONS]", 0, kMany, kRefused, kScript, "the service that it relayed to is gone, use tcppm", nullptr},

    // network
    {"maxconn", "NUMBER", 1, 1, kSupported, kBelow, "ServiceOptions::maxconn", HandleMaxconn},
    {"backlog", "NUMBER", 1, 1, kSupported, kBelow, "ServiceOptions::backlog", HandleBacklog},
    {"timeouts",
     "BYTE_SHORT [BYTE_LONG [STRING_SHORT [STRING_LONG [CONNECTION_SHORT [CONNECTION_LONG [DNS [CHAIN [CONNECT "
     "[CONNECTBACK [LINGER]]]]]]]]]]",
     1, 11, kSupported, kBelow, "ServiceOptions::timeouts, ServiceOptions::relay", HandleTimeouts},
    {"internal", "ADDRESS|unix:PATH", 1, 1, kSupported, kBelow, "ServiceOptions::listen", HandleInternal},
    {"external", "ADDRESS", 1, 1, kSupported, kBelow, "ServiceOptions::external_ipv4, external_ipv6", HandleExternal},
    {"udp_ports", "FIRST-LAST|PORT|0", 1, 1, kSupported, kBelow, "SocksOptions::udp_ports", HandleUdpPorts},
    {"maxseg", "BYTES", 1, 1, kSupported, kBelow, "the value of TCP_MAXSEG in the option lists", HandleMaxseg},
    {"force", "", 0, 0, kSupported, kBelow, "ServiceOptions::force_reauthorise", HandleForce},
    {"noforce", "", 0, 0, kSupported, kBelow, "ServiceOptions::force_reauthorise", HandleNoforce},
    {"transparent", "", 0, 0, kSupported, kBelow, "ServiceOptions::transparent", HandleTransparent},
    {"notransparent", "", 0, 0, kSupported, kBelow, "ServiceOptions::transparent", HandleNotransparent},

    // logging
    {"log", "[FILE|@IDENT|/dev/null [c|H|D|W|M|Y]]", 0, 2, kSupported, kBelow, "ServiceOptions::log", HandleLog},
    {"rotate", "NUMBER", 1, 1, kSupported, kBelow, "LogOptions::keep_rotated", HandleRotate},
    {"logformat", "FORMAT|json", 1, 1, kSupported, kBelow, "LogOptions::format", HandleLogformat},
    {"logdump", "BYTES_IN BYTES_OUT", 2, 2, kSupported, kBelow,
     "RelayOptions::report_bytes_from_upstream, report_bytes_from_client", HandleLogdump},
    {"archiver", "EXTENSION COMMAND...", 2, kMany, kNotBuilt, kBelow, "protocols/accounting", nullptr},

    // process
    {"include", "FILE", 1, 1, kSupported, kScript, "the commands of FILE, here", HandleInclude},
    {"end", "", 0, 0, kSupported, kScript, "ends the file that it stands in", HandleEnd},
    {"config", "FILE", 1, 1, kSupported, kEverything, "ProcessOptions::reload_path", HandleConfig},
    {"monitor", "FILE", 1, 1, kSupported, kEverything, "ProcessOptions::monitors", HandleMonitor},
    {"pidfile", "FILE", 1, 1, kSupported, kEverything, "ProcessOptions::pidfile", HandlePidfile},
    {"setuid", "USER", 1, 1, kSupported, kEverything, "ProcessOptions::user", HandleSetuid},
    {"setgid", "GROUP", 1, 1, kSupported, kEverything, "ProcessOptions::group", HandleSetgid},
    {"chroot", "PATH [USER [GROUP]]", 1, 3, kSupported, kEverything, "ProcessOptions::chroot, chroot_identity",
     HandleChroot},
    {"daemon", "", 0, 0, kSupported, kEverything, "ProcessOptions::daemon", HandleDaemon},
    {"system", "\"COMMAND\"", 1, 1, kSupported, kEverything, "run while reading, only with --allow-system",
     HandleSystem},
    {"plugin", "LIBRARY FUNCTION [ARGUMENTS]", 2, kMany, kSupported, kEverything,
     "an error but for what is built in: ssl_plugin, pcre_plugin, transparent_plugin", HandlePlugin},
    {"service", "", 0, kMany, kIgnored, kEverything, "it is for Windows", nullptr},
    {"stacksize", "BYTES", 1, 1, kIgnored, kEverything, "there is no thread and so no stack per connection", nullptr},
    {"writable", "", 0, 0, kRefused, kEverything,
     "the configuration is not edited through the proxy, change the file and send SIGHUP", nullptr},
    {"dialer", "PROGRAM", 1, 1, kRefused, kEverything, "there is no dial-on-demand, let the system connect", nullptr},

    // dns
    {"nserver", "ADDRESS[:PORT][/tcp]", 1, 1, kSupported, kEverything, "DnsOptions::servers", HandleNserver},
    {"nscache", "ENTRIES", 1, 1, kSupported, kEverything, "DnsOptions::cache_ipv4_entries", HandleNscache},
    {"nscache6", "ENTRIES", 1, 1, kSupported, kEverything, "DnsOptions::cache_ipv6_entries", HandleNscache6},
    {"nsrecord", "NAME ADDRESS", 2, 2, kSupported, kEverything, "DnsOptions::records", HandleNsrecord},
    {"authnserver", "ADDRESS[:PORT][/tcp]", 1, 1, kSupported, kEverything, "DnsOptions::auth_servers",
     HandleAuthnserver},
    {"fakeresolve", "", 0, 0, kNotBuilt, kEverything, "protocols/upstream", nullptr},

    // access
    {"auth", "TYPE...", 1, kMany, kSupported, kBelow, "ServiceOptions::auth", HandleAuth},
    {"flush", "", 0, 0, kSupported, kBelow, "empties the list of rules", HandleFlush},
    {"allow", kRule, 0, 8, kSupported, kBelow, "ServiceOptions::rules", HandleAllow},
    {"deny", kRule, 0, 8, kSupported, kBelow, "ServiceOptions::rules", HandleDeny},
    {"redirect", "ADDRESS PORT [RULE]", 2, 10, kNotBuilt, kBelow, "protocols/access", nullptr},
    {"nolog", "", 0, 0, kSupported, kBelow, "Rule::log", HandleNolog},
    {"weight", "NUMBER", 1, 1, kSupported, kBelow, "Rule::weight", HandleWeight},
    {"connlim", "RATE PERIOD [RULE]", 2, 10, kNotBuilt, kEverything, "protocols/access", nullptr},
    {"noconnlim", "[RULE]", 0, 8, kNotBuilt, kEverything, "protocols/access", nullptr},
    {"bandlimin", "RATE [RULE]", 1, 9, kNotBuilt, kEverything, "protocols/access", nullptr},
    {"bandlimout", "RATE [RULE]", 1, 9, kNotBuilt, kEverything, "protocols/access", nullptr},
    {"nobandlimin", "[RULE]", 0, 8, kNotBuilt, kEverything, "protocols/access", nullptr},
    {"nobandlimout", "[RULE]", 0, 8, kNotBuilt, kEverything, "protocols/access", nullptr},
    {"counter", "FILE [TYPE REPORT]", 1, 3, kNotBuilt, kEverything, "protocols/accounting", nullptr},
    {"countin", "NUMBER[/COMMENT] TYPE MEGABYTES [RULE]", 3, 11, kNotBuilt, kEverything, "protocols/accounting",
     nullptr},
    {"countout", "NUMBER[/COMMENT] TYPE MEGABYTES [RULE]", 3, 11, kNotBuilt, kEverything, "protocols/accounting",
     nullptr},
    {"countall", "NUMBER[/COMMENT] TYPE MEGABYTES [RULE]", 3, 11, kNotBuilt, kEverything, "protocols/accounting",
     nullptr},
    {"nocountin", "[RULE]", 0, 8, kNotBuilt, kEverything, "protocols/accounting", nullptr},
    {"nocountout", "[RULE]", 0, 8, kNotBuilt, kEverything, "protocols/accounting", nullptr},
    {"nocountall", "[RULE]", 0, 8, kNotBuilt, kEverything, "protocols/accounting", nullptr},
    {"trafcorrect", "MODEL ...", 1, kMany, kRefused, kEverything,
     "counters count the bytes that were relayed, no overhead is guessed, take it away", nullptr},

    // users
    {"users", "NAME[:TYPE:PASSWORD]...", 0, kMany, kSupported, kEverything, "Snapshot::users", HandleUsers},
    {"authcache", "FIELDS [SECONDS [ENTRIES]]", 1, 3, kSupported, kBelow, "AuthOptions::cache", HandleAuthcache},
    {"radius", "SECRET SERVER[:PORT][/LOCAL]...", 2, 6, kNotBuilt, kEverything, "protocols/auth", nullptr},

    // upstream
    {"parent", "WEIGHT TYPE ADDRESS PORT [USER [PASSWORD]]", 4, 6, kNotBuilt, kBelow, "protocols/upstream", nullptr},
    {"parentretries", "NUMBER", 1, 1, kNotBuilt, kBelow, "protocols/upstream", nullptr},

    // gateways
    {"delimchar", "CHARACTER", 1, 1, kNotBuilt, kBelow, "protocols/gateways", nullptr},

    // filters
    {"filtermaxsize", "BYTES", 1, 1, kNotBuilt, kBelow, "protocols/http", nullptr},
    {"pcre", "TYPES ACTION REGEX [RULE]", 3, 11, kNotBuilt, kBelow, "protocols/http", nullptr},
    {"pcre_rewrite", "TYPES ACTION REGEX REPLACEMENT [RULE]", 4, 12, kNotBuilt, kBelow, "protocols/http", nullptr},
    {"pcre_extend", "ACTION [RULE]", 1, 9, kNotBuilt, kBelow, "protocols/http", nullptr},
    {"pcre_options", "OPTION...", 1, kMany, kNotBuilt, kBelow, "protocols/http", nullptr},

    // tls
    {"ssl_serv", "", 0, 0, kSupported, kBelow, "ServiceOptions::tls.server", HandleSslServ},
    {"ssl_server", "", 0, 0, kSupported, kBelow, "ServiceOptions::tls.server", HandleSslServ},
    {"ssl_noserv", "", 0, 0, kSupported, kBelow, "ServiceOptions::tls.server", HandleSslNoServ},
    {"ssl_cli", "", 0, 0, kSupported, kBelow, "ServiceOptions::tls.client", HandleSslCli},
    {"ssl_client", "", 0, 0, kSupported, kBelow, "ServiceOptions::tls.client", HandleSslCli},
    {"ssl_nocli", "", 0, 0, kSupported, kBelow, "ServiceOptions::tls.client", HandleSslNoCli},
    {"ssl_mitm", "", 0, 0, kNotBuilt, kBelow, "tls", nullptr},
    {"ssl_nomitm", "", 0, 0, kSupported, kBelow, "says what is so: nothing is intercepted", HandleSslNoMitm},
    {"ssl_ktls", "", 0, 1, kSupported, kBelow, "a warning: sessions stay in the process; an error with an argument",
     HandleSslKtls},
    {"ssl_noktls", "", 0, 0, kSupported, kBelow, "says what is so: sessions stay in the process", HandleSslNoKtls},
    {"ssl_certcache", "FOLDER/", 0, 1, kNotBuilt, kBelow, "tls", nullptr},
    {"ssl_server_cert", "FILE", 0, 1, kSupported, kBelow, "tls::ServerOptions", HandleSslSetting},
    {"ssl_server_key", "FILE", 0, 1, kSupported, kBelow, "tls::ServerOptions", HandleSslSetting},
    {"ssl_server_ca_file", "FILE", 0, 1, kSupported, kBelow, "tls::ServerOptions", HandleSslSetting},
    {"ssl_server_ca_key", "FILE", 0, 1, kNotBuilt, kBelow, "tls", nullptr},
    {"ssl_server_ca_dir", "FOLDER", 0, 1, kSupported, kBelow, "tls::ServerOptions", HandleSslSetting},
    {"ssl_server_ca_store", "URI", 0, 1, kSupported, kBelow, "tls::ServerOptions", HandleSslSetting},
    {"ssl_server_verify", "", 0, 0, kSupported, kBelow, "tls::ServerOptions", HandleSslVerify},
    {"ssl_server_no_verify", "", 0, 0, kSupported, kBelow, "tls::ServerOptions", HandleSslVerify},
    {"ssl_server_ciphersuites", "LIST", 0, 1, kSupported, kBelow, "tls::ServerOptions", HandleSslSetting},
    {"ssl_server_cipher_list", "LIST", 0, 1, kSupported, kBelow, "tls::ServerOptions", HandleSslSetting},
    {"ssl_server_min_proto_version", "VERSION", 0, 1, kSupported, kBelow, "tls::ServerOptions", HandleSslSetting},
    {"ssl_server_max_proto_version", "VERSION", 0, 1, kSupported, kBelow, "tls::ServerOptions", HandleSslSetting},
    {"ssl_client_cert", "FILE", 0, 1, kSupported, kBelow, "tls::ClientOptions", HandleSslSetting},
    {"ssl_client_key", "FILE", 0, 1, kSupported, kBelow, "tls::ClientOptions", HandleSslSetting},
    {"ssl_client_ca_file", "FILE", 0, 1, kSupported, kBelow, "tls::ClientOptions", HandleSslSetting},
    {"ssl_client_ca_dir", "FOLDER", 0, 1, kSupported, kBelow, "tls::ClientOptions", HandleSslSetting},
    {"ssl_client_ca_store", "URI", 0, 1, kSupported, kBelow, "tls::ClientOptions", HandleSslSetting},
    {"ssl_client_verify", "", 0, 0, kSupported, kBelow, "tls::ClientOptions", HandleSslVerify},
    {"ssl_client_no_verify", "", 0, 0, kSupported, kBelow, "tls::ClientOptions", HandleSslVerify},
    {"ssl_client_ciphersuites", "LIST", 0, 1, kSupported, kBelow, "tls::ClientOptions", HandleSslSetting},
    {"ssl_client_cipher_list", "LIST", 0, 1, kSupported, kBelow, "tls::ClientOptions", HandleSslSetting},
    {"ssl_client_min_proto_version", "VERSION", 0, 1, kSupported, kBelow, "tls::ClientOptions", HandleSslSetting},
    {"ssl_client_max_proto_version", "VERSION", 0, 1, kSupported, kBelow, "tls::ClientOptions", HandleSslSetting},
    {"ssl_client_sni", "NAME", 0, 1, kSupported, kBelow, "tls::ClientOptions", HandleSslSetting},
    {"ssl_client_alpn", "PROTOCOL...", 0, kMany, kSupported, kBelow, "tls::ClientOptions", HandleSslSetting},
    {"ssl_client_mode", "0|1|2|3", 1, 1, kSupported, kBelow, "whether ServiceOptions::tls.client is used",
     HandleSslClientMode},
};

std::string ArgumentCount(const Command& command) {
  if (command.max_arguments == 0) return "no argument";
  const std::string least = absl::StrCat(command.min_arguments);
  if (command.max_arguments == kMany)
    return absl::StrCat("at least ", least, command.min_arguments == 1 ? " argument" : " arguments");
  if (command.min_arguments == command.max_arguments)
    return absl::StrCat(least, least == "1" ? " argument" : " arguments");
  return absl::StrCat(least, " to ", command.max_arguments, " arguments");
}

// What may have gone wrong when there are too many words.
absl::string_view ExtraWordsHint(const Command& command, const CommandLine& line) {
  for (size_t i = 1; i < line.words.size(); ++i) {
    if (absl::StartsWith(line.words[i], "#")) return " (a # behind a command does not begin a comment)";
  }
  for (absl::string_view text : {"FILE", "FORMAT", "COMMAND"}) {
    if (absl::StrContains(command.usage, text)) return " (quote an argument that holds blanks)";
  }
  return "";
}

bool CheckArity(const Command& command, CommandContext& context, const CommandLine& line) {
  const int given = context.arguments();
  if (given >= command.min_arguments && given <= command.max_arguments) return true;
  context.Error(absl::StrCat("takes ", ArgumentCount(command), ", here there are ", given, ", write ", command.name,
                             command.usage.empty() ? "" : " ", command.usage,
                             given > command.max_arguments ? ExtraWordsHint(command, line) : ""));
  return false;
}

void Unknown(CommandContext& context) {
  const std::string& name = context.name();
  const absl::string_view near = NearestCommand(name);
  std::string instead = "see protocols/config/README.md for all commands";
  if (!near.empty()) instead = absl::StrCat("did you mean ", near, "?");
  context.state.diagnostics.Error(context.location(), absl::StrCat(Quoted(name),
                                                                   " is no command, nothing is passed over in "
                                                                   "silence, ",
                                                                   instead));
}

void Ignore(const Command& command, CommandContext& context) {
  if (!context.state.noted.insert(std::string(command.name)).second) return;
  context.Warning(absl::StrCat("has no effect, ", command.note, ", the line can go"));
}

// What stands where a service was meant, even if it is not built: nothing more is to be said about missing ones.
bool WouldStartService(const Command& command) { return command.status == kNotBuilt && command.scope == kScript; }

}  // namespace

absl::Span<const Command> Commands() { return kCommands; }

absl::string_view CommandStatusName(CommandStatus status) {
  switch (status) {
    case CommandStatus::kSupported:
      return "supported";
    case CommandStatus::kIgnored:
      return "ignored";
    case CommandStatus::kNotBuilt:
      return "not built yet";
    case CommandStatus::kRefused:
      return "refused";
  }
  return "";
}

const Command* FindCommand(absl::string_view name) {
  for (const Command& command : kCommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

absl::string_view NearestCommand(absl::string_view name) {
  return Nearest(name, kCommands, [](const Command& command) { return command.name; });
}

void RunCommand(const CommandLine& line, BuilderState& state) {
  CommandContext context(line, state);
  const Command* command = FindCommand(context.name());
  if (command == nullptr) {
    Unknown(context);
    return;
  }
  switch (command->status) {
    case CommandStatus::kSupported:
      if (!CheckArity(*command, context, line)) return;
      if (command->scope == kBelow) state.unused.push_back({context.name(), context.location()});
      command->handle(context);
      return;
    case CommandStatus::kIgnored:
      Ignore(*command, context);
      return;
    case CommandStatus::kNotBuilt:
      if (WouldStartService(*command)) {
        state.service_seen = true;
        state.unused.clear();
      }
      context.Error("is not built yet, it would be accepted without effect, take it away");
      return;
    case CommandStatus::kRefused:
      context.Error(absl::StrCat("is not supported, ", command->note));
      return;
  }
}

}  // namespace sluice::config
