#include "protocols/config/commands/network.h"

#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "protocols/config/values.h"
#include "protocols/service/snapshot.h"
#include "sys/net/socket_address.h"
#include "sys/thread/clock.h"

namespace sluice::config {
namespace {

// More descriptors than fs.nr_open allows by a factor of ten.
constexpr int64_t kMaxConnections = 10'000'000;

struct TimeoutName {
  absl::string_view name;
  int64_t service::Timeouts::*field;
};

constexpr TimeoutName kTimeouts[] = {
    {"BYTE_SHORT", &service::Timeouts::byte_short},
    {"BYTE_LONG", &service::Timeouts::byte_long},
    {"STRING_SHORT", &service::Timeouts::string_short},
    {"STRING_LONG", &service::Timeouts::string_long},
    {"CONNECTION_SHORT", &service::Timeouts::connection_short},
    {"CONNECTION_LONG", &service::Timeouts::connection_long},
    {"DNS", &service::Timeouts::dns},
    {"CHAIN", &service::Timeouts::chain},
    {"CONNECT", &service::Timeouts::connect},
    {"CONNECTBACK", &service::Timeouts::connect_back},
    {"LINGER", &service::Timeouts::linger},
};

// LINGER 0 means that the tail is not waited for. Any other time of 0 would end every connection at once.
int64_t LeastSeconds(const TimeoutName& timeout) { return timeout.field == &service::Timeouts::linger ? 0 : 1; }

}  // namespace

void HandleMaxconn(CommandContext& context) {
  const auto value =
      context.Number(1, 1, kMaxConnections, "it bounds the connections of each service below, give how many are meant");
  if (value) context.state.settings.maxconn = static_cast<int>(*value);
}

void HandleBacklog(CommandContext& context) {
  const auto value = context.Number(1, 0, std::numeric_limits<int32_t>::max(),
                                    "it bounds the connections waiting for accept, 0 is 1 + maxconn/8");
  if (value) context.state.settings.backlog = static_cast<int>(*value);
}

void HandleTimeouts(CommandContext& context) {
  service::Timeouts timeouts = context.state.settings.timeouts;
  bool good = true;
  for (int i = 1; i <= context.arguments(); ++i) {
    const TimeoutName& timeout = kTimeouts[i - 1];
    const auto seconds = context.Number(i, LeastSeconds(timeout), std::numeric_limits<int32_t>::max(),
                                        absl::StrCat("it is ", timeout.name, " in seconds, give a time that can pass"));
    good = good && seconds;
    if (seconds) timeouts.*timeout.field = *seconds * sys::kNanosPerSecond;
  }
  static_assert(std::size(kTimeouts) == 11, "the arity in command_table.cc");
  if (good) context.state.settings.timeouts = timeouts;
}

void HandleInternal(CommandContext& context) {
  absl::StatusOr<sys::SocketAddress> address = ParseLocalAddress(context.argument(1), /*allow_unix=*/true);
  if (!address.ok()) {
    context.Error(absl::StrCat(Quoted(context.argument(1)), " ", address.status().message()));
    return;
  }
  context.state.settings.listen = *address;
}

void HandleExternal(CommandContext& context) {
  absl::StatusOr<sys::SocketAddress> address = ParseLocalAddress(context.argument(1), /*allow_unix=*/false);
  if (!address.ok()) {
    context.Error(absl::StrCat(Quoted(context.argument(1)), " ", address.status().message()));
    return;
  }
  SetExternal(*address, context.state.settings);
}

void SetExternal(const sys::SocketAddress& address, service::ServiceOptions& service) {
  std::optional<sys::SocketAddress>& external =
      address.family() == sys::AddressFamily::kIpv4 ? service.external_ipv4 : service.external_ipv6;
  external.reset();
  if (!address.is_any()) external = address;
}

void HandleUdpPorts(CommandContext& context) {
  const absl::string_view word = context.argument(1);
  service::PortRange& range = context.state.settings.socks.udp_ports;
  if (word == "0") {
    range = {};
    return;
  }
  if (const auto one = ParseInteger(word, 1, 65535)) {
    range = {static_cast<uint16_t>(*one), static_cast<uint16_t>(*one), /*shared=*/true};
    return;
  }
  const size_t dash = word.find('-');
  const auto first = ParseInteger(word.substr(0, dash), 1, 65535);
  const auto last = dash == absl::string_view::npos ? std::nullopt : ParseInteger(word.substr(dash + 1), 1, 65535);
  if (!first || !last || *first > *last) {
    context.Error(absl::StrCat(Quoted(word),
                               " is no range of ports, the first one comes first and both are 1 to 65535, write "
                               "40000-40999, 40000 for one port that all clients share, or 0 for any"));
    return;
  }
  range = {static_cast<uint16_t>(*first), static_cast<uint16_t>(*last), /*shared=*/false};
}

void HandleMaxseg(CommandContext& context) {
  // TCP_MIN_MSS and MAX_TCP_WINDOW: what setsockopt() takes.
  const auto value = context.Number(1, 88, 32767, "it is the TCP_MAXSEG that Linux takes, give the bytes of a segment");
  if (value) context.state.maxseg = static_cast<int>(*value);
}

void HandleTransparent(CommandContext& context) { context.state.settings.transparent = true; }

void HandleNotransparent(CommandContext& context) { context.state.settings.transparent = false; }

void HandleForce(CommandContext& context) { context.state.settings.force_reauthorise = true; }

void HandleNoforce(CommandContext& context) { context.state.settings.force_reauthorise = false; }

}  // namespace sluice::config
